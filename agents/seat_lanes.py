"""Games side by side in which a learner plays one side and given agents the others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.agent import Agent
from agents.lockstep import advance
from cardtable.chance import LEARNER_SIDE, OPPONENT, agent_seeds, episode_seeds, uniform_each
from cardtable.game import Game, Ints

_LEARNER = -1


@dataclass(frozen=True)
class Finished:
    """Games that a step ended.

    Attributes:
        lanes: int64 [N], where they were played.
        observations: int8 [N, D], their ends as the learner's seat that acted last sees them.
        scores: int64 [N, sides].
        returns, lengths: float64 [N], int64 [N]: the learner's sums of rewards and numbers of decisions.
    """

    lanes: Ints
    observations: NDArray[np.int8]
    scores: Ints
    returns: NDArray[np.float64]
    lengths: Ints


class SeatLanes:
    """Lanes in which one learner decides for all seats of a side, so that partners share the policy.

    The other sides are played by an agent that is drawn anew for each game; each agent answers all its lanes in one
    call. Every lane shows the learner's next decision. Its reward is the sum of what the learner's side got since its
    last decision, so advantages never mix sides. A lane whose game is over starts the next one at once. Which side the
    learner plays is drawn anew for each game.

    Args:
        game: the game with its rules.
        num_lanes: number of lanes B.
        opponents: the agents of the other sides.
        weights: how often each is drawn; equally often if None.

    Raises:
        ValueError: if there are no opponents, or weights do not fit them.

    Attributes:
        observations, masks: int8 [B, D], int8 [B, A]: the learner's present decisions.
        seats: int64 [B]: the learner's seat that is to move.
        seating: int64 [B, P]: which opponent sits on each seat, -1 for the learner.
        states: the games' records [B].
    """

    def __init__(
        self, game: Game, num_lanes: int, opponents: Sequence[Agent], weights: Sequence[float] | None = None
    ) -> None:
        if not opponents and len(game.teams) > 1:
            raise ValueError("opponents is empty; give at least one agent, for example make_agent('random', game)")
        weights = [1.0] * len(opponents) if weights is None else list(weights)
        if len(weights) != len(opponents) or (weights and (min(weights) < 0 or sum(weights) <= 0)):
            raise ValueError(f"weights must be {len(opponents)} numbers of at least 0, not all 0: got {weights}")
        self.game = game
        self._opponents = list(opponents)
        self._shares = np.cumsum(weights) / (sum(weights) or 1.0)
        self._team_of = np.array([game.team_of(seat) for seat in range(game.num_players)])
        self._everywhere = np.arange(num_lanes)
        self._streams = np.zeros(num_lanes, np.uint64)
        self._episodes = np.zeros(num_lanes, np.int64)
        self._rewards = np.zeros(num_lanes)  # since the learner's last decision
        self._returns = np.zeros(num_lanes)  # of the present games
        self._lengths = np.zeros(num_lanes, np.int64)  # the learner's decisions in the present games
        self.states = game.empty_states(num_lanes)
        self.seating = np.full((num_lanes, game.num_players), _LEARNER, np.int64)
        self.seats = np.zeros(num_lanes, np.int64)
        self.observations = np.empty((num_lanes, game.layout.size), np.int8)
        self.masks = np.empty((num_lanes, game.num_actions), np.int8)

    def reset(self, streams: NDArray[np.uint64]) -> None:
        """Start the first game of the streams [B] of `cardtable.chance.lane_seeds`."""
        self._streams = streams
        self._episodes[:] = -1
        for agent, seed in zip(self._opponents, agent_seeds(streams[0], len(self._opponents)), strict=True):
            agent.reset(seed)
        self.restart(self._everywhere)

    def restart(self, lanes: Ints) -> None:
        """Drop the present games of some lanes and start the next ones."""
        self._start(lanes)
        self._settle(lanes)
        self._observe()

    def step(self, actions: Ints) -> tuple[NDArray[np.float64], Finished]:
        """Carry out the learner's actions [B]; return its rewards [B] and the games that have ended.

        Raises:
            IllegalAction: if an action is not legal; nothing has changed then.
        """
        rewards = self.game.step(self.states, actions)
        self._lengths += 1
        self._add_rewards(self._everywhere, rewards)
        self._settle(self._everywhere)
        rewards = self._rewards.copy()
        self._rewards[:] = 0.0
        over = np.flatnonzero(self.game.terminated(self.states))
        ended = self.states[over]
        finished = Finished(
            over,
            self.game.show(ended, self.seats[over])[0],
            self.game.scores(ended),
            self._returns[over],
            self._lengths[over],
        )
        if len(over):
            self._start(over)
            self._settle(over)
        self._observe()
        return rewards, finished

    def _start(self, lanes: Ints) -> None:
        """Deal new games in some lanes; draw sides and opponents."""
        self._episodes[lanes] += 1
        seeds = episode_seeds(self._streams[lanes], self._episodes[lanes])
        self.states[lanes] = self.game.new_states(seeds)
        sides = (uniform_each(seeds, LEARNER_SIDE) * len(self.game.teams)).astype(np.int64)
        opponents = np.searchsorted(self._shares, uniform_each(seeds, OPPONENT), side="right")
        mine = self._team_of == sides[:, None]
        self.seating[lanes] = np.where(mine, _LEARNER, opponents[:, None])
        self.seats[lanes] = mine.argmax(axis=1)
        self._rewards[lanes] = 0.0
        self._returns[lanes] = 0.0
        self._lengths[lanes] = 0

    def _settle(self, lanes: Ints) -> None:
        """Let the opponents act in some lanes until the learner is to move or the game is over."""
        while True:
            movers = self.states["to_move"][lanes].astype(np.int64)
            waiting = lanes[(movers >= 0) & (self.seating[lanes, movers] != _LEARNER)]
            if not len(waiting):
                break
            self._add_rewards(waiting, advance(self.game, self.states, waiting, self.seating, self._opponents))
        self.seats[lanes] = np.where(movers >= 0, movers, self.seats[lanes])

    def _add_rewards(self, lanes: Ints, rewards: NDArray[np.float64]) -> None:
        mine = rewards[np.arange(len(lanes)), self.seats[lanes]]
        self._rewards[lanes] += mine
        self._returns[lanes] += mine

    def _observe(self) -> None:
        self.game.show(self.states, self.seats, (self.observations, self.masks))
