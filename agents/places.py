"""How a game's observations and actions belong to the places of its table, for networks that share weights among them.

Piles has 12 places, the piles. Wall has one for each position of one's own wall: the cards of all levels there. In Wall
a network is also told what "builder" makes of the position, and its values are added to builder's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from agents.network import Floats
from cardtable.game import Game, Ints
from piles_env import PilesGame
from piles_env.engine import NEIGHBOURS, NUM_KINDS
from piles_env.state import NUM_PILES
from wall_env import WallGame, WallRules
from wall_env.actions import encode_build
from wall_env.advice import NUM_AT_PLACE, NUM_GENERAL, advise
from wall_env.encoding import NUM_RANKS
from wall_env.engine import LEFT, RIGHT


@dataclass(frozen=True)
class Places:
    """The places of a game's table.

    Attributes:
        cells: int64 [P, C], the indices of the numbers of an observation that are about each place, in one order for
            all places; -1 where a place lacks one. A place without any number but 0 is empty and not looked at.
        ranks: 0 if these numbers are sizes; otherwise they are categories, 0 for none and 1 to `ranks`.
        others: int64 [G], the indices of further numbers.
        adjacent: float32 [R, P, P], for each of R relations 1 where the second place is so related to the first.
        pool: what sums over all places are divided by: about the number of those that are not empty.
        actions: int64 [P, K], the actions at each place, in one order for all; -1 where a place lacks one.
        ends: int64 [E, 2], actions and relations: such an action belongs to the place that has no neighbour in that
            relation, which depends on the position.
        general: int64 [N], all other actions.
        hidden: units of the layer from which the values of those are computed.
        unit: how far apart the values of good and bad actions are, in points.
        advise: what a rule of thumb makes of observations int8 [B, D]: float32 [B, A], to which the network's values
            are added, in units; float32 [B, G'], further numbers; float32 [B, P', M], further sizes about each place up
            to the last that is not empty in all rows. In Piles there is none, and all three are empty.
        advice: G' and M.
    """

    cells: Ints
    ranks: int
    others: Ints
    adjacent: NDArray[np.float32]
    pool: float
    actions: Ints
    ends: Ints
    general: Ints
    hidden: int
    unit: float
    advise: Callable[[NDArray[np.int8]], tuple[Floats, Floats, Floats]]
    advice: tuple[int, int] = (0, 0)

    @property
    def advised(self) -> bool:
        return self.advice != (0, 0)


def places_of(game: Game) -> Places:
    """The places of Piles or of Wall."""
    if isinstance(game, PilesGame):
        return _piles(game)
    assert isinstance(game, WallGame)
    return _wall(game)


def related_places(adjacent: NDArray[np.float32]) -> Ints:
    """int64 [P, N, 2]: for each place the places related to it and by which relation, -1 for no more."""
    found = [[(other, relation) for relation, other in np.argwhere(adjacent[:, place])]
             for place in range(adjacent.shape[1])]  # fmt: skip
    related = np.full((len(found), max(map(len, found)), 2), -1)
    for place, others in enumerate(found):
        related[place, : len(others)] = others
    return related


def _piles(game: PilesGame) -> Places:
    index = game.layout.split(np.arange(game.layout.size))
    last_on = index["last_action"][:, NUM_KINDS : NUM_KINDS + NUM_PILES].T
    cells = np.concatenate([index["top"], index["under"], index["total"][:, None], last_on], axis=1)
    beside = [[NEIGHBOURS[pile] >> other & 1 for other in range(NUM_PILES)] for pile in range(NUM_PILES)]
    actions = np.arange(NUM_PILES * NUM_KINDS).reshape(NUM_PILES, NUM_KINDS)
    return Places(
        cells=cells,
        ranks=0,
        others=np.setdiff1d(np.arange(game.layout.size), cells),
        adjacent=np.array([beside], np.float32),
        pool=NUM_PILES,
        actions=actions,
        ends=np.empty((0, 2), np.int64),
        general=np.arange(actions.size, game.num_actions),
        hidden=64,
        unit=20.0,
        advise=_no_advice,
    )


def _no_advice(observations: NDArray[np.int8]) -> tuple[Floats, Floats, Floats]:
    count = len(observations)
    return (
        np.empty((count, 0), np.float32),
        np.empty((count, 0), np.float32),
        np.empty((count, NUM_PILES, 0), np.float32),
    )


_SEEN = (
    *("phase", "in_hand", "from_discard", "wanted", "unseen", "discard_top", "score", "idle"),
    *("deck_size", "discard_size", "width"),
)
_WALL_UNIT = 0.25
_STEPS = -1, 1  # the other positions that a position sees


def _wall(game: WallGame) -> Places:
    """A card on level k at position p rests on positions p to p + k of the base, so what matters lies side by side."""
    rules = game.rules
    width, levels = rules.width_limit, rules.num_levels
    index = game.layout.split(np.arange(game.layout.size))
    cells, actions = np.full((width, levels + 1), -1), np.full((width, levels), -1)
    first = 0
    for level in range(levels + 1):
        length = width - level
        cells[:length, level] = index["wall"][0, first : first + length]
        first += length
        if level > 0:
            actions[:length, level - 1] = [encode_build(rules, level, position) for position in range(length)]
    return Places(
        cells=cells,
        ranks=NUM_RANKS - 1,  # without the joker, which counts as the card that it stands for
        others=np.concatenate([index[name].ravel() for name in _SEEN]),
        adjacent=np.array([np.eye(width, k=step) for step in _STEPS], np.float32),
        pool=8,
        actions=actions,
        ends=np.array([(LEFT, 0), (RIGHT, 1)]),
        general=np.arange(LEFT),
        hidden=128,
        unit=_WALL_UNIT,
        advise=partial(_wall_advice, rules),
        advice=(NUM_GENERAL, NUM_AT_PLACE * levels),
    )


def _wall_advice(rules: WallRules, observations: NDArray[np.int8]) -> tuple[Floats, Floats, Floats]:
    values, general, places = advise(rules, observations)
    return values / np.float32(_WALL_UNIT), general, places
