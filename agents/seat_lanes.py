"""Games side by side in which a learner plays one side and given agents the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.agent import Agent
from agents.lockstep import Step, advance
from cardtable.chance import LEARNER_SEAT, LEARNER_SIDE, OPPONENT, PARTNER, agent_seeds, episode_seeds, uniform_each
from cardtable.game import Game, Ints

LEARNER = -1
_STATE = ("_streams", "_episodes", "_rewards", "_returns", "_lengths", "states", "seating", "seats")


@dataclass(frozen=True)
class Finished:
    """Games that a step ended.

    Attributes:
        lanes: int64 [N], where they were played.
        observations: int8 [N, D], their ends as the learner's seat that acted last sees them.
        scores: int64 [N, sides].
        returns, lengths: float64 [N], int64 [N]: the learner's sums of rewards and numbers of decisions.
        opponents: int64 [N], which agent played the other sides; -1 where there are none.
    """

    lanes: Ints
    observations: NDArray[np.int8]
    scores: Ints
    returns: NDArray[np.float64]
    lengths: Ints
    opponents: Ints


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The memory of an array, not a copy."""
    return array.view(np.uint8).reshape(-1)


class SeatLanes:
    """Lanes in which one learner decides for a side, as a rule for all its seats, so that partners share the policy.

    The other sides are played by an agent that is drawn anew for each game; each agent answers all its lanes in one
    call. Every lane shows the learner's next decision. Its reward is the sum of what the learner's side got since its
    last decision, so advantages never mix sides. A lane whose game is over starts the next one at once. Which side the
    learner plays is drawn anew for each game. `draw_from` lets agents play the learner's partners as well.

    Args:
        game: the game with its rules.
        num_lanes: number of lanes B.
        agents: those who play the other seats.
        weights: how often each is drawn as an opponent; equally often if None.
        step: carries out actions and returns rewards; `game.step` if None.

    Raises:
        ValueError: if there are no opponents, or weights do not fit them.

    Attributes:
        agents: those who play the other seats. Agents may be added or exchanged during play; `draw_from` then says how
            often each is drawn.
        observations, masks: int8 [B, D], int8 [B, A]: the learner's present decisions.
        seats: int64 [B]: the learner's seat that is to move.
        seating: int64 [B, P]: which agent sits on each seat, -1 for the learner.
        states: the games' records [B].
    """

    def __init__(
        self,
        game: Game,
        num_lanes: int,
        agents: Sequence[Agent],
        weights: Sequence[float] | None = None,
        step: Step | None = None,
    ) -> None:
        if not agents and len(game.teams) > 1:
            raise ValueError("opponents is empty; give at least one agent, for example make_agent('random', game)")
        self.game = game
        self.agents = agents
        self._step = step or game.step
        self.draw_from([1.0] * len(agents) if weights is None else weights)
        self._team_of = np.array([game.team_of(seat) for seat in range(game.num_players)])
        self._everywhere = np.arange(num_lanes)
        self._streams = np.zeros(num_lanes, np.uint64)
        self._episodes = np.zeros(num_lanes, np.int64)
        self._rewards = np.zeros(num_lanes)  # since the learner's last decision
        self._returns = np.zeros(num_lanes)  # of the present games
        self._lengths = np.zeros(num_lanes, np.int64)  # the learner's decisions in the present games
        self.states = game.empty_states(num_lanes)
        self.seating = np.full((num_lanes, game.num_players), LEARNER, np.int64)
        self.seats = np.zeros(num_lanes, np.int64)
        self.observations = np.empty((num_lanes, game.layout.size), np.int8)
        self.masks = np.empty((num_lanes, game.num_actions), np.int8)

    def reset(self, streams: NDArray[np.uint64]) -> None:
        """Start the first game of the streams [B] of `cardtable.chance.lane_seeds`."""
        self._streams = streams.copy()
        self._episodes[:] = -1
        for agent, seed in zip(self.agents, agent_seeds(streams[0], len(self.agents)), strict=True):
            agent.reset(seed)
        self.restart(self._everywhere)

    def draw_from(self, opponents: Sequence[float], partners: Sequence[float] = ()) -> None:
        """Say how often each agent is drawn for the games that begin from now on.

        Args:
            opponents: a weight of at least 0 for each agent: how often it plays the other sides.
            partners: the share of games in which each agent plays all seats of the learner's side but one, which is
                drawn; in the others the learner plays its side alone. Empty: in all.

        Raises:
            ValueError: if weights or shares do not fit the agents.
        """
        count = len(self.agents)
        if len(opponents) != count or (count and (min(opponents) < 0 or sum(opponents) <= 0)):
            raise ValueError(f"weights must be {count} numbers of at least 0, not all 0: got {list(opponents)}")
        if len(partners) not in (0, count) or (len(partners) and (min(partners) < 0 or sum(partners) > 1 + 1e-9)):
            raise ValueError(f"partners must be {count} shares with a sum of at most 1: got {list(partners)}")
        sums = np.cumsum(opponents, dtype=float)
        self._opponents = sums / sums[-1:]
        self._partners = np.cumsum(partners)

    def get_state(self) -> dict[str, NDArray[np.uint8]]:
        """The bytes of all that the games go on from; agents and `draw_from` are not among it."""
        return {name: _bytes(getattr(self, name)).copy() for name in _STATE}

    def set_state(self, state: Mapping[str, NDArray[np.uint8]]) -> None:
        """Go on from what `get_state` returned, with as many lanes and the same agents."""
        for name in _STATE:
            _bytes(getattr(self, name))[:] = state[name]
        self._observe()

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
        rewards = self._step(self.states, actions)
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
            self._opponent_in(over),
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
        opponents = np.searchsorted(self._opponents, uniform_each(seeds, OPPONENT), side="right")
        mine = self._team_of == sides[:, None]
        self.seating[lanes] = np.where(mine, LEARNER, opponents[:, None])
        if len(self._partners):
            self._seat_partners(lanes, seeds)
            mine = self.seating[lanes] == LEARNER
        self.seats[lanes] = mine.argmax(axis=1)
        self._rewards[lanes] = 0.0
        self._returns[lanes] = 0.0
        self._lengths[lanes] = 0

    def _seat_partners(self, lanes: Ints, seeds: NDArray[np.uint64]) -> None:
        """Give all seats of the learner but one to an agent, where one is drawn."""
        partners = np.searchsorted(self._partners, uniform_each(seeds, PARTNER), side="right")
        mine = self.seating[lanes] == LEARNER
        kept = (uniform_each(seeds, LEARNER_SEAT) * mine.sum(axis=1)).astype(np.int64)
        given = mine & (np.cumsum(mine, axis=1) - 1 != kept[:, None]) & (partners < len(self._partners))[:, None]
        self.seating[lanes] = np.where(given, partners[:, None], self.seating[lanes])

    def _opponent_in(self, lanes: Ints) -> Ints:
        """Who plays the other sides, int64 [len(lanes)]; -1 where there are none."""
        theirs = self._team_of != self._team_of[self.seats[lanes]][:, None]
        opponents: Ints = np.where(theirs, self.seating[lanes], LEARNER).max(axis=1)
        return opponents

    def _settle(self, lanes: Ints) -> None:
        """Let the opponents act in some lanes until the learner is to move or the game is over."""
        while True:
            movers = self.states["to_move"][lanes].astype(np.int64)
            waiting = lanes[(movers >= 0) & (self.seating[lanes, movers] != LEARNER)]
            if not len(waiting):
                break
            self._add_rewards(waiting, advance(self.game, self.states, waiting, self.seating, self.agents, self._step))
        self.seats[lanes] = np.where(movers >= 0, movers, self.seats[lanes])

    def _add_rewards(self, lanes: Ints, rewards: NDArray[np.float64]) -> None:
        mine = rewards[np.arange(len(lanes)), self.seats[lanes]]
        self._rewards[lanes] += mine
        self._returns[lanes] += mine

    def _observe(self) -> None:
        self.game.show(self.states, self.seats, (self.observations, self.masks))
