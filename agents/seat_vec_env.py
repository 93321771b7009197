"""The learner's lanes as a Stable-Baselines3 vector environment."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from agents.agent import Agent
from agents.lockstep import Step
from agents.seat_lanes import SeatLanes
from cardtable.chance import lane_seeds
from cardtable.game import Game


class SeatVecEnv(VecEnv):
    """`SeatLanes` for Stable-Baselines3: a learner plays one side in each lane, given agents the others.

    Observations are int8 [B, D], rewards float32 [B]. `infos[lane]` of a game that has ended holds
    `terminal_observation`, `scores`, `opponent` (the index of the agent that played the other side, -1 for none) and
    SB3's `episode` statistics, from which it logs `rollout/ep_rew_mean`.

    Args:
        game: the game; `reward="dense"` learns faster than a final margin.
        num_envs: number of lanes B.
        agents, weights, step: as in `SeatLanes`; `lanes.draw_from` changes who is drawn.
        seed: seed of all games; None: from the operating system. `env.seed(...)` before `reset` sets another.

    Raises:
        ValueError: if there are no opponents, or weights do not fit them.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        agents: Sequence[Agent],
        weights: Sequence[float] | None = None,
        seed: int | None = None,
        step: Step | None = None,
    ) -> None:
        self.game = game
        self.lanes = SeatLanes(game, num_envs, agents, weights, step)
        self.env_seconds = 0.0  # spent in steps, opponents included
        self._seed = seed
        self._actions: NDArray[np.int64] = np.empty(0, np.int64)
        self._started = time.monotonic()
        layout = game.layout
        super().__init__(
            num_envs, spaces.Box(layout.low, layout.high, dtype=np.int8), spaces.Discrete(game.num_actions)
        )

    def reset(self) -> NDArray[np.int8]:
        """Start a first game in each lane; observations int8 [B, D]."""
        base = self._seed if self._seeds[0] is None else self._seeds[0]
        self.lanes.reset(lane_seeds(base, self.num_envs))
        self._reset_seeds()
        self._reset_options()
        return self.lanes.observations.copy()

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = np.asarray(actions)

    def step_wait(self) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        began = time.monotonic()
        rewards, finished = self.lanes.step(self._actions)
        dones = np.zeros(self.num_envs, np.bool_)
        dones[finished.lanes] = True
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        elapsed = round(began - self._started, 6)
        for k, lane in enumerate(finished.lanes):
            infos[lane] = {
                "terminal_observation": finished.observations[k],
                "scores": finished.scores[k],
                "opponent": int(finished.opponents[k]),
                "episode": {"r": float(finished.returns[k]), "l": int(finished.lengths[k]), "t": elapsed},
            }
        self.env_seconds += time.monotonic() - began
        return self.lanes.observations.copy(), rewards.astype(np.float32), dones, infos

    def action_masks(self) -> NDArray[np.int8]:
        """Legal actions of each lane's decision, int8 [B, A]."""
        return self.lanes.masks.copy()

    def close(self) -> None:
        """Nothing is held open."""

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """`action_masks` by lane, as sb3-contrib asks for it."""
        if method_name != "action_masks":
            raise AttributeError(f"lanes have no method {method_name!r}; they have 'action_masks'")
        return list(self.lanes.masks[list(self._get_indices(indices))])

    def has_attr(self, attr_name: str) -> bool:
        return attr_name in ("action_masks", "render_mode")

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        if attr_name == "render_mode":
            return [None] * len(list(self._get_indices(indices)))
        raise AttributeError(f"lanes have no attribute {attr_name!r}")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"lanes have no attribute {attr_name!r} that can be set")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))
