"""What searching players have in common: how much they search."""

import time
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from agents.agent import GameAgent
from cardtable.game import Game, Ints, Views

_TRIAL = 32  # playouts by which the speed of a search is measured


class SearchAgent(GameAgent):
    """A player that searches for a number of playouts, or for a time, at each decision.

    With a number its choices are reproducible. With a time they are not: it first measures its speed in the position
    by a short search, and then searches with as many playouts as fit into what is left.

    Args:
        game: the game that will be played.
        playouts: games to play for each decision.
        ms: milliseconds for each decision, instead.
    """

    def __init__(self, game: Game, playouts: int = 1000, ms: int | None = None) -> None:
        super().__init__(game)
        self._playouts = playouts
        self._ms = ms

    @abstractmethod
    def _search(self, views: Views, seeds: NDArray[np.uint64], playouts: int, actions: Ints) -> None:
        """Choose for each view [B] with so many playouts; write the action ids into `actions` [B]."""

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        actions = np.empty(len(views), np.int64)
        if self._ms is None:
            self._search(views, seeds, self._playouts, actions)
            return actions
        self._search(views[:1], seeds[:1], 1, actions[:1])  # compiles on first use
        for lane in range(len(views)):
            one = slice(lane, lane + 1)
            began = time.perf_counter()
            self._search(views[one], seeds[one], _TRIAL, actions[one])
            spent = time.perf_counter() - began
            more = int((self._ms / 1000 - spent) / spent * _TRIAL)
            if more > _TRIAL:
                self._search(views[one], seeds[one], more, actions[one])
        return actions
