"""The players that look ahead by one action at most."""

import numpy as np
from numpy.typing import NDArray

from agents.agent import GameAgent
from cardtable.bits import load_word, popcount
from cardtable.chance import TIE, below
from cardtable.game import Ints, Views
from cardtable.kernel import kernel


@kernel
def choose_random(masks: NDArray[np.int8], seeds: NDArray[np.uint64], out: Ints) -> None:
    """Write a uniformly random legal action for each mask [B, A] into `out` [B], by one seed [B] each."""
    num_actions = masks.shape[1]
    for lane in range(len(masks)):
        mask, count, action = masks[lane], 0, 0
        while action + 8 <= num_actions:  # eight flags at a time
            count += popcount(load_word(mask, action))
            action += 8
        for rest in range(action, num_actions):
            count += mask[rest]
        left, action = below(seeds[lane], TIE, 0, count), 0
        while action + 8 <= num_actions and left >= popcount(load_word(mask, action)):
            left -= popcount(load_word(mask, action))
            action += 8
        left -= mask[action]
        while left >= 0:
            action += 1
            left -= mask[action]
        out[lane] = action


class RandomAgent(GameAgent):
    """Chooses uniformly among the legal actions, in any game."""

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        _, masks = self.game.observe(views)
        actions = np.empty(len(views), np.int64)
        choose_random(masks, seeds, actions)
        return actions


class GreedyAgent(GameAgent):
    """Takes the action after which it would lead most if the game (Wall: the turn) ended then; ties at random.

    What chance decides counts with its mean: the card taken from a passer, the card drawn. In Wall a pass, or a discard
    where the base could be widened, counts as worse than anything that brings as much.
    """

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        return self.game.greedy_actions(views, seeds)
