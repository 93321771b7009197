"""A card game as a Gymnasium vector environment: many games side by side, each at its own mover's decision."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from cardtable.chance import episode_seeds, lane_seeds
from cardtable.game import Game, LaneBuffers

_MOST_THREADS = 256


class TableVectorEnv(gymnasium.vector.VectorEnv[NDArray[np.int8], NDArray[np.int64], NDArray[Any]]):
    """`num_envs` games (lanes), stepped together in compiled code.

    Every lane shows the decision of the seat that is to move in it. A step takes one action for each lane; a lane whose
    game ends starts its next game in the same step (autoreset mode SAME_STEP). Observations are int8 [B, D].

    Infos of `reset` and `step` hold

    - `action_mask`: int8 [B, A], the legal actions of the seat to move;
    - `current_player`: int8 [B], that seat;

    and those of `step` also

    - `rewards`: float64 [B, P], what the step brought each seat; where a game has ended, its last rewards;
    - `final_obs`: int8 [B, D], where a game has ended its last position as the seat that acted last sees it;
    - `final_info`: `{"scores": int64 [B, sides]}`, the scores of games that have ended;
    - `_final_obs`, `_final_info`: bool [B], where these two count; all four are there only if a game has ended.

    `step` returns as reward what the seat that acted got from its action, float64 [B]. Lane i plays the games of the
    PettingZoo environment that is reset with lane i's seed: `reset(seed=[...])` gives each lane its seed, and with
    `reset(seed=n)` lane 0 plays the games of `raw_env().reset(seed=n)`. No lane depends on their number.

    Args:
        game: the game with its rules.
        num_envs: number of lanes B, at least 1.
        copy: False: the arrays that `reset` and `step` return are read-only views of the environment's own buffers,
            which the next call overwrites. True: they are copies.
        num_threads: threads among which the lanes are divided; results do not depend on it.

    Raises:
        ValueError: if `num_envs` or `num_threads` is not possible.
    """

    def __init__(self, game: Game, num_envs: int, *, copy: bool = True, num_threads: int = 1) -> None:
        if not isinstance(num_envs, int) or isinstance(num_envs, bool) or num_envs < 1:
            raise ValueError(f"num_envs must be an integer of at least 1, not {num_envs!r}")
        if not isinstance(num_threads, int) or isinstance(num_threads, bool) or not 1 <= num_threads <= _MOST_THREADS:
            raise ValueError(f"num_threads must be an integer from 1 to {_MOST_THREADS}, not {num_threads!r}")
        self.game = game
        self.num_envs = num_envs
        self.copy = copy
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": ["ansi"]}
        self.render_mode = "ansi"
        layout = game.layout
        self.single_observation_space = spaces.Box(layout.low, layout.high, dtype=np.int8)
        self.single_action_space = spaces.Discrete(game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._lanes: NDArray[np.uint64] | None = None
        self._buffers = LaneBuffers(game, num_envs)
        self._truncated = np.zeros(num_envs, np.bool_)
        bounds = np.linspace(0, num_envs, min(num_threads, num_envs) + 1).astype(int).tolist()
        self._parts = list(pairwise(bounds))
        self._pool = ThreadPoolExecutor(len(self._parts) - 1) if len(self._parts) > 1 else None

    def __repr__(self) -> str:
        return f"TableVectorEnv({self.game!r}, {self.num_envs})"

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Start new games in all lanes, or in those that `options={"reset_mask": bool [B]}` marks.

        Args:
            seed: one seed for all lanes, a sequence with one for each, or None to go on with the present streams of
                games (the first time: from the operating system).
            options: `reset_mask` only.

        Returns:
            Observations int8 [B, D] of all lanes, and infos.

        Raises:
            ValueError: if seeds or mask do not fit the lanes, or an option is unknown.
        """
        mask = self._reset_mask(dict(options or {}))
        buffers = self._buffers
        if self._lanes is None:
            self._lanes = lane_seeds(None, self.num_envs)
            buffers.episodes[:] = -1
            if not mask.all():
                raise ValueError("the first reset must start all lanes; leave reset_mask out")
        fresh = self._seeds(seed)
        buffers.episodes[mask] += 1
        if fresh is not None:
            given = mask & fresh[1]
            self._lanes[given] = fresh[0][given]
            buffers.episodes[given] = 0
        lanes = np.flatnonzero(mask)
        buffers.lanes[:] = self._lanes
        buffers.states[lanes] = self.game.new_states(episode_seeds(self._lanes[lanes], buffers.episodes[lanes]))
        self.game.refresh(buffers)
        return self._out(buffers.observations), self._infos()

    def _reset_mask(self, options: dict[str, Any]) -> NDArray[np.bool_]:
        mask = options.pop("reset_mask", None)
        if options:
            raise ValueError(f"unknown reset option {next(iter(options))!r}; the option is reset_mask")
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        if (
            not isinstance(mask, np.ndarray)
            or mask.dtype != np.bool_
            or mask.shape != (self.num_envs,)
            or not mask.any()
        ):
            raise ValueError(
                f"reset_mask must be a bool array of shape ({self.num_envs},) with a True in it, not {mask!r}"
            )
        return mask

    def _seeds(self, seed: int | Sequence[int | None] | None) -> tuple[NDArray[np.uint64], NDArray[np.bool_]] | None:
        """Lane seeds, and which lanes get one."""
        if seed is None:
            return None
        if isinstance(seed, (int, np.integer)):
            return lane_seeds(int(seed), self.num_envs), np.ones(self.num_envs, np.bool_)
        if len(seed) != self.num_envs:
            raise ValueError(f"{self.num_envs} seeds are needed, one for each lane: got {len(seed)}")
        given = np.array([one is not None for one in seed])
        return np.array([lane_seeds(one or 0, 1)[0] for one in seed], np.uint64), given

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Carry out one action in each lane.

        Raises:
            IllegalAction: if an action is not legal; no lane has changed then.
            RuntimeError: before the first `reset`.
        """
        if self._lanes is None:
            raise RuntimeError("call reset() before step()")
        buffers = self._buffers
        chosen = self.game.check_actions(buffers.states, actions)
        for lane in self._run(lambda first, last: self.game.first_illegal(buffers.states, chosen, first, last)):
            if lane >= 0:
                raise self.game.illegal_action(buffers.states[lane], chosen[lane], lane)
        self._run(lambda first, last: self.game.step_lanes(buffers, chosen, first, last))
        infos = self._infos()
        infos["rewards"] = self._out(buffers.rewards)
        if buffers.terminated.any():
            over = buffers.terminated.copy()
            infos["final_obs"], infos["_final_obs"] = self._out(buffers.final_observations), over
            infos["final_info"], infos["_final_info"] = {"scores": self._out(buffers.final_scores)}, over
        return (
            self._out(buffers.observations),
            self._out(buffers.acted_rewards),
            self._out(buffers.terminated),
            self._truncated.copy(),
            infos,
        )

    def _run(self, work: Any) -> list[Any]:
        """Do `work(first, last)` for each thread's lanes."""
        if self._pool is None:
            return [work(*self._parts[0])]
        others = [self._pool.submit(work, *part) for part in self._parts[1:]]
        return [work(*self._parts[0]), *(other.result() for other in others)]

    def _infos(self) -> dict[str, Any]:
        return {
            "action_mask": self._out(self._buffers.masks),
            "current_player": self._out(self._buffers.players),
        }

    def _out(self, array: Any) -> Any:
        if self.copy:
            return array.copy()
        view = array.view()
        view.flags.writeable = False
        return view

    def render(self) -> tuple[str, ...]:
        """The position of each lane as text, with all cards shown."""
        if self._lanes is None:
            raise RuntimeError("call reset() before render()")
        return tuple(self.game.render(state) for state in self._buffers.states)

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
