"""Agents of one's own, as users bring them to a tournament: simple ones, and ones that fail now and then."""

import os
import time

import numpy as np
from numpy.typing import NDArray

from agents.agent import GameAgent
from agents.heuristics import HeuristicAgent
from cardtable.game import Game, Ints, Views


class First(GameAgent):
    """Always takes the legal action with the lowest id."""

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        return self.game.observe(views)[1].argmax(axis=1)


class Last(GameAgent):
    """Always takes the legal action with the highest id."""

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        masks = self.game.observe(views)[1]
        return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)


class Steady(HeuristicAgent):
    """Greedy that does not listen to its seed, so that two of it choose alike."""

    def __init__(self, game: Game) -> None:
        super().__init__(game, "greedy")

    def reset(self, seed: int) -> None:
        super().reset(0)


class _Unruly(First):
    """Fails in the views whose seeds are multiples of `one_in`."""

    one_in = 199

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        failing = seeds % np.uint64(self.one_in) == 0
        actions = super()._act(views, seeds)
        return self._fail(actions, failing) if failing.any() else actions

    def _fail(self, actions: Ints, failing: NDArray[np.bool_]) -> Ints:
        raise NotImplementedError


class Crasher(_Unruly):
    """Raises an exception with two lines of text."""

    def _fail(self, actions: Ints, failing: NDArray[np.bool_]) -> Ints:
        raise RuntimeError("out of\nideas")


class RareCrasher(Crasher):
    """The same, in few views."""

    one_in = 5_003


class Quitter(_Unruly):
    """Wants to leave Python."""

    def _fail(self, actions: Ints, failing: NDArray[np.bool_]) -> Ints:
        raise SystemExit(3)


class Cheat(_Unruly):
    """Plays what is no action."""

    def _fail(self, actions: Ints, failing: NDArray[np.bool_]) -> Ints:
        return np.where(failing, 10_000, actions)


class Mute(_Unruly):
    """Does not answer all views."""

    def _fail(self, actions: Ints, failing: NDArray[np.bool_]) -> Ints:
        return actions[~failing]


class Dreamer(_Unruly):
    """Answers with numbers that are no integers."""

    def _fail(self, actions: Ints, failing: NDArray[np.bool_]) -> Ints:
        return actions + 0.5


class Sleeper(_Unruly):
    """Thinks for a minute."""

    def _fail(self, actions: Ints, failing: NDArray[np.bool_]) -> Ints:
        time.sleep(60)
        return actions


class Killer(_Unruly):
    """Ends its process without a word, as a fault in compiled code would."""

    def _fail(self, actions: Ints, failing: NDArray[np.bool_]) -> Ints:
        os._exit(3)


class Counter(GameAgent):
    """Chooses by the number of views that it has seen since `reset`: not what an agent should do."""

    def reset(self, seed: int) -> None:
        super().reset(seed)
        self._seen = 0

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        self._seen += len(views)
        return (First if self._seen % 3 else Last)(self.game).act(views)


class Broken:
    """Cannot be made."""

    def __init__(self, game: object) -> None:
        raise KeyError("no such thing")
