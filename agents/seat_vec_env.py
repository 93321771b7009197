"""A game as a Stable-Baselines3 vector environment: in each lane a learner plays one side, given agents the others."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from agents.agent import Agent
from agents.lockstep import advance
from cardtable.chance import LEARNER_SIDE, OPPONENT, agent_seeds, episode_seeds, lane_seeds, uniform_each
from cardtable.game import Game, Ints

_LEARNER = -1


class SeatVecEnv(VecEnv):
    """Lanes in which one learner decides for all seats of a side, so that partners share the policy.

    The other sides are played by an agent that is drawn anew for each game; each agent answers all its lanes in one
    call. Every step a lane shows the learner's next decision, and its reward is the sum of what the learner's side got
    since its last decision, so advantages never mix sides. A lane whose game is over starts the next one at once;
    `infos[lane]` then holds `terminal_observation`, `scores` and SB3's `episode` statistics. Which side the learner
    plays is drawn anew for each game.

    Args:
        game: the game; `reward="dense"` learns faster than a final margin.
        num_envs: number of lanes B.
        opponents: the agents of the other sides.
        weights: how often each is drawn; equally often if None.
        seed: seed of all games; None: from the operating system. `env.seed(...)` before `reset` sets another.

    Raises:
        ValueError: if there are no opponents, or weights do not fit them.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        opponents: Sequence[Agent],
        weights: Sequence[float] | None = None,
        seed: int | None = None,
    ) -> None:
        if not opponents and len(game.teams) > 1:
            raise ValueError("opponents is empty; give at least one agent, for example make_agent('random', game)")
        weights = [1.0] * len(opponents) if weights is None else list(weights)
        if len(weights) != len(opponents) or (weights and (min(weights) < 0 or sum(weights) <= 0)):
            raise ValueError(f"weights must be {len(opponents)} numbers of at least 0, not all 0: got {weights}")
        self.game = game
        self._opponents = list(opponents)
        self._shares = np.cumsum(weights) / (sum(weights) or 1.0)
        self._seed = seed
        self._team_of = np.array([game.team_of(seat) for seat in range(game.num_players)])
        self._lanes = lane_seeds(seed, num_envs)
        self._episodes = np.full(num_envs, -1, np.int64)
        self._states = game.empty_states(num_envs)
        self._seating = np.full((num_envs, game.num_players), _LEARNER, np.int64)
        self._seat = np.zeros(num_envs, np.int64)  # the learner's seat that decides now, or decided last
        self._reward = np.zeros(num_envs)  # since the learner's last decision
        self._return = np.zeros(num_envs)  # of the present game
        self._length = np.zeros(num_envs, np.int64)  # the learner's decisions in the present game
        self._observations = np.empty((num_envs, game.layout.size), np.int8)
        self._masks = np.empty((num_envs, game.num_actions), np.int8)
        self._actions: Ints = np.empty(0, np.int64)
        self._started = time.monotonic()
        self.env_seconds = 0.0  # spent in steps, opponents included
        layout = game.layout
        super().__init__(
            num_envs, spaces.Box(layout.low, layout.high, dtype=np.int8), spaces.Discrete(game.num_actions)
        )

    # --- VecEnv -------------------------------------------------------------------------------------------------------

    def reset(self) -> NDArray[np.int8]:
        """Start a first game in each lane; observations int8 [B, D]."""
        base = self._seeds[0] if self._seeds and self._seeds[0] is not None else self._seed
        self._lanes = lane_seeds(base, self.num_envs)
        self._episodes[:] = -1
        for agent, agent_seed in zip(self._opponents, agent_seeds(self._lanes[0], len(self._opponents)), strict=True):
            agent.reset(agent_seed)
        everywhere = np.arange(self.num_envs)
        self._start(everywhere)
        self._settle(everywhere)
        self._observe()
        self._reset_seeds()
        self._reset_options()
        return self._observations.copy()

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = np.asarray(actions)

    def step_wait(self) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        began = time.monotonic()
        self.game.step(self._states, self._actions)
        self._length += 1
        everywhere = np.arange(self.num_envs)
        self._add_rewards(everywhere, self.game.rewards(self._states))
        self._settle(everywhere)
        rewards = self._reward.astype(np.float32)
        self._reward[:] = 0.0
        dones = self.game.terminated(self._states)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        over = np.flatnonzero(dones)
        if len(over):
            self._finish(over, infos)
        self._observe()
        self.env_seconds += time.monotonic() - began
        return self._observations.copy(), rewards, dones, infos

    def action_masks(self) -> NDArray[np.int8]:
        """Legal actions of each lane's decision, int8 [B, A]."""
        return self._masks.copy()

    def close(self) -> None:
        """Nothing is held open."""

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """`action_masks` by lane, as sb3-contrib asks for it."""
        if method_name != "action_masks":
            raise AttributeError(f"lanes have no method {method_name!r}; they have 'action_masks'")
        return list(self._masks[list(self._get_indices(indices))].copy())

    def has_attr(self, attr_name: str) -> bool:
        return attr_name in ("action_masks", "render_mode")

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        if attr_name == "render_mode":
            return [None] * len(list(self._get_indices(indices)))
        if attr_name == "action_masks":
            return [lambda lane=lane: self._masks[lane].copy() for lane in self._get_indices(indices)]
        raise AttributeError(f"lanes have no attribute {attr_name!r}")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"lanes have no attribute {attr_name!r} that can be set")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))

    # --- games --------------------------------------------------------------------------------------------------------

    def _start(self, lanes: Ints) -> None:
        """Deal new games in some lanes; draw sides and opponents."""
        self._episodes[lanes] += 1
        seeds = episode_seeds(self._lanes[lanes], self._episodes[lanes])
        self._states[lanes] = self.game.new_states(seeds)
        sides = (uniform_each(seeds, LEARNER_SIDE) * len(self.game.teams)).astype(np.int64)
        opponents = np.searchsorted(self._shares, uniform_each(seeds, OPPONENT), side="right")
        mine = self._team_of == sides[:, None]
        self._seating[lanes] = np.where(mine, _LEARNER, opponents[:, None])
        self._seat[lanes] = mine.argmax(axis=1)
        self._reward[lanes] = 0.0
        self._return[lanes] = 0.0
        self._length[lanes] = 0

    def _settle(self, lanes: Ints) -> None:
        """Let the opponents act in some lanes until the learner is to move or the game is over."""
        while True:
            movers = self._states["to_move"][lanes].astype(np.int64)
            acting = (movers >= 0) & (self._seating[lanes, movers] != _LEARNER)
            waiting = lanes[acting]
            if not len(waiting):
                break
            rewards = advance(self.game, self._states, waiting, self._seating, self._opponents)
            self._add_rewards(waiting, rewards)
        self._seat[lanes] = np.where(movers >= 0, movers, self._seat[lanes])

    def _add_rewards(self, lanes: Ints, rewards: NDArray[np.float64]) -> None:
        mine = rewards[np.arange(len(lanes)), self._seat[lanes]]
        self._reward[lanes] += mine
        self._return[lanes] += mine

    def _finish(self, lanes: Ints, infos: list[dict[str, Any]]) -> None:
        """Describe finished games, and start the next ones."""
        terminal, _ = self.game.observe(self.game.view(self._states[lanes], self._seat[lanes]))
        scores = self.game.scores(self._states[lanes])
        elapsed = round(time.monotonic() - self._started, 6)
        for k, lane in enumerate(lanes):
            infos[lane] = {
                "terminal_observation": terminal[k],
                "scores": scores[k],
                "episode": {"r": float(self._return[lane]), "l": int(self._length[lane]), "t": elapsed},
            }
        self._start(lanes)
        self._settle(lanes)

    def _observe(self) -> None:
        self.game.observe(self.game.view(self._states, self._seat), (self._observations, self._masks))
