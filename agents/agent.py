"""What an agent is: a decision maker that sees views and returns actions, in batches."""

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cardtable.chance import keyed_seeds
from cardtable.game import Game, Ints, Views


class Agent(Protocol):
    """Anything with these two methods can be seated in a match."""

    def reset(self, seed: int) -> None:
        """Start anew; with one seed the same views bring the same actions."""

    def act(self, views: Views) -> Ints:
        """Choose a legal action for each view [B], whose seat is to move: action ids int64 [B]."""


class GameAgent(ABC):
    """Base of the agents here: it checks the views, and gives each a seed of its own.

    A choice depends on the agent's seed and on the view alone, so it is the same in any batch, and no card that the
    view hides can change it.

    Args:
        game: the game that will be played.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self._seed = 0

    def reset(self, seed: int) -> None:
        """Choose by another seed (0 to 2**64 - 1) from now on."""
        self._seed = seed

    def act(self, views: Views) -> Ints:
        """Choose a legal action for each view [B]: action ids int64 [B].

        Raises:
            ValueError: if a view is of another game or other rules, or its seat is not to move.
        """
        self._check(views)
        return self._act(views, keyed_seeds(self._seed, views))

    @abstractmethod
    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints: ...

    def _check(self, views: Views) -> None:
        name = type(self).__name__
        if views.dtype != self.game.view_dtype:
            raise ValueError(f"{name} plays {self.game.name}; these views are of another game")
        self.game.check_state(views)
        if (views["to_move"] < 0).any():
            lane = int(np.argmax(views["to_move"] < 0))
            raise ValueError(f"{name} is asked for an action, but the game in lane {lane} is over")
        if (views["to_move"] != views["seat"]).any():
            lane = int(np.argmax(views["to_move"] != views["seat"]))
            raise ValueError(f"{name} is asked for an action in lane {lane}, where its seat is not to move")
