"""The players that look ahead by one action at most."""

import numpy as np
from numpy.typing import NDArray

from agents.agent import GameAgent
from cardtable.chance import TIE, below
from cardtable.game import Ints, Views
from cardtable.kernel import kernel


@kernel
def _choose(masks: NDArray[np.int8], seeds: NDArray[np.uint64], out: Ints) -> None:
    for lane in range(len(masks)):
        count = 0
        for legal in masks[lane]:
            count += legal
        left = below(seeds[lane], TIE, 0, count)
        for action in range(masks.shape[1]):
            if masks[lane, action]:
                if left == 0:
                    out[lane] = action
                    break
                left -= 1


class RandomAgent(GameAgent):
    """Chooses uniformly among the legal actions, in any game."""

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        _, masks = self.game.observe(views)
        actions = np.empty(len(views), np.int64)
        _choose(masks, seeds, actions)
        return actions


class GreedyAgent(GameAgent):
    """Takes the action after which it would lead most if the game (Wall: the turn) ended then; ties at random.

    What chance decides counts with its mean: the card taken from a passer, the card drawn. In Wall a pass, or a discard
    where the base could be widened, counts as worse than anything that brings as much.
    """

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        return self.game.greedy_actions(views, seeds)
