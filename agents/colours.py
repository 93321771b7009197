"""One colour for networks that play Piles: as Black a side does what it would do as Red, were all colours swapped.

A network that sees every position as Red's learns once what it would otherwise learn twice.
"""

from dataclasses import dataclass

from cardtable.game import Game, Ints
from piles_env import PilesGame


@dataclass(frozen=True)
class Turn:
    """How to turn Black's positions into Red's.

    Attributes:
        black: the index of the number of an observation that is 1 if the viewer's side is Black.
        observation: int64 [D]; `observations[:, observation]` has the colours swapped.
        action: int64 [A]; `values[:, action]` are those of the actions with the colours swapped, and back again.
    """

    black: int
    observation: Ints
    action: Ints


def colour_turn(game: Game) -> Turn | None:
    """The turn of Piles; None for a game without colours."""
    if not isinstance(game, PilesGame):
        return None
    swap = next(symmetry for symmetry in game.symmetries if symmetry.name == "swap colours")
    return Turn(game.layout.slices["colour"].start + 2, swap.observation, swap.action)
