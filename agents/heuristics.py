"""The players whose every choice follows from rules of thumb, in compiled code."""

import numpy as np
from numpy.typing import NDArray

from agents.agent import GameAgent
from cardtable.game import Game, Ints, Views, check_choice


class HeuristicAgent(GameAgent):
    """Plays by one of the game's compiled policies.

    Args:
        game: the game that will be played.
        policy: one of `game.policies`.

    Raises:
        ValueError: if the game has no such policy.
    """

    def __init__(self, game: Game, policy: str) -> None:
        super().__init__(game)
        check_choice("policy", policy, game.policies)
        self._policy = policy

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        return self.game.policy_actions(views, seeds, self._policy)
