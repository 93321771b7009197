"""The learner's lanes as Gymnasium environments: one game, and many side by side."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

import piles_env
import wall_env
from agents.agent import Agent
from agents.seat_lanes import SeatLanes
from agents.spec import make_agent
from cardtable.chance import lane_seeds
from cardtable.game import Game, IllegalAction


def _agents(game: Game, opponents: Sequence[str | Agent]) -> list[Agent]:
    """Agents as they are given, or made from their specs."""
    if isinstance(opponents, str):
        raise ValueError(f"opponents must be a sequence of agents, such as [{opponents!r}], not {opponents!r}")
    return [make_agent(agent, game) if isinstance(agent, str) else agent for agent in opponents]


class SeatEnv(gymnasium.Env[NDArray[np.int8], np.int64]):
    """One game at a time in which a learner decides for all seats of one side; agents play the others.

    Observations are int8 [D]; `info["action_mask"]` is int8 [A], and `action_masks()` the same for sb3-contrib. The
    reward is what the learner's side got since its last decision. Which side it plays, and which opponent it meets, is
    drawn anew for each game. An illegal action ends the game with the lowest return as reward, and
    `info["illegal_action"]` says what was wrong.

    Args:
        game: the game with its rules.
        opponents: agents or their specs; one is drawn for each game.
        render_mode: None or "ansi": `render()` returns the learner's view as text.

    Raises:
        ValueError: if there are no opponents or the render mode is unknown.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 2}  # noqa: RUF012  # Gymnasium's convention

    def __init__(
        self, game: Game, opponents: Sequence[str | Agent] = ("random",), render_mode: str | None = None
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode must be None or 'ansi', not {render_mode!r}")
        self.game = game
        self.render_mode = render_mode
        layout = game.layout
        self.observation_space = spaces.Box(layout.low, layout.high, dtype=np.int8)
        self.action_space = spaces.Discrete(game.num_actions)
        self._lanes = SeatLanes(game, 1, _agents(game, opponents))
        self._first = np.zeros(1, np.int64)
        self._fresh = False  # whether the lane stands at the beginning of a game that nobody has seen
        self._playing = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Start a game: the first of a stream if a seed is given (or none has been), else the next one."""
        first = self._np_random is None
        super().reset(seed=seed)
        if options:
            raise ValueError(f"unknown reset option {next(iter(options))!r}; there are none")
        if seed is not None or first:
            self._lanes.reset(lane_seeds(seed, 1))
        elif not self._fresh:
            self._lanes.restart(self._first)
        self._fresh, self._playing = False, True
        return self._lanes.observations[0].copy(), self._info()

    def step(self, action: Any) -> tuple[NDArray[np.int8], float, bool, bool, dict[str, Any]]:
        """Carry out the learner's action, and the opponents' until it is to move again.

        Raises:
            RuntimeError: if no game is going on.
        """
        if not self._playing:
            raise RuntimeError("no game is going on; call reset()")
        try:
            rewards, finished = self._lanes.step(np.array([action]))
        except IllegalAction as error:
            self._playing = False
            info = {**self._info(), "illegal_action": str(error)}
            return self._lanes.observations[0].copy(), float(self.game.return_range[0]), True, False, info
        if not len(finished.lanes):
            return self._lanes.observations[0].copy(), float(rewards[0]), False, False, self._info()
        self._playing, self._fresh = False, True
        info = {"action_mask": np.zeros(self.game.num_actions, np.int8), "scores": finished.scores[0]}
        return finished.observations[0], float(rewards[0]), True, False, info

    def action_masks(self) -> NDArray[np.int8]:
        """Legal actions, int8 [A]; zeros when no game is going on."""
        return self._lanes.masks[0].copy() if self._playing else np.zeros(self.game.num_actions, np.int8)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks()}

    def render(self) -> str | None:
        """The learner's view as text."""
        if self.render_mode is None:
            return None
        return self.game.render_view(self.game.view(self._lanes.states, self._lanes.seats)[0])


class SeatVectorEnv(gymnasium.vector.VectorEnv[NDArray[np.int8], NDArray[np.int64], NDArray[Any]]):
    """`SeatLanes` for Gymnasium: `num_envs` games of a learner, with autoreset mode SAME_STEP.

    Observations are int8 [B, D]; infos hold `action_mask`, int8 [B, A], and where games have ended `final_obs`
    (int8 [B, D]) and `final_info` with `scores`, marked by `_final_obs` and `_final_info`. An illegal action raises
    `IllegalAction` and changes nothing.

    Args:
        game: the game with its rules.
        num_envs: number of lanes B.
        opponents: agents or their specs; one is drawn for each game.
    """

    def __init__(self, game: Game, num_envs: int, opponents: Sequence[str | Agent] = ("random",)) -> None:
        self.game = game
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}
        self.single_observation_space = spaces.Box(game.layout.low, game.layout.high, dtype=np.int8)
        self.single_action_space = spaces.Discrete(game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._lanes = SeatLanes(game, num_envs, _agents(game, opponents))
        self._everywhere = np.arange(num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Start games in all lanes: the first of their streams if a seed is given (or none has been), else the next."""
        first = self._np_random is None
        super().reset(seed=seed)
        if options:
            raise ValueError(f"unknown reset option {next(iter(options))!r}; there are none")
        if seed is not None or first:
            if seed is None:
                self._np_random, self._np_random_seed = gymnasium.utils.seeding.np_random(None)
            self._lanes.reset(lane_seeds(seed, self.num_envs))
        else:
            self._lanes.restart(self._everywhere)
        return self._lanes.observations.copy(), {"action_mask": self._lanes.masks.copy()}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Carry out the learner's action in each lane, and the opponents' until it is to move again."""
        rewards, finished = self._lanes.step(actions)
        terminated = np.zeros(self.num_envs, np.bool_)
        terminated[finished.lanes] = True
        infos: dict[str, Any] = {"action_mask": self._lanes.masks.copy()}
        if len(finished.lanes):
            final = np.zeros_like(self._lanes.observations)
            final[finished.lanes] = finished.observations
            scores = np.zeros((self.num_envs, finished.scores.shape[1]), np.int64)
            scores[finished.lanes] = finished.scores
            infos |= {"final_obs": final, "final_info": {"scores": scores}}
            infos |= {"_final_obs": terminated.copy(), "_final_info": terminated.copy()}
        truncated = np.zeros(self.num_envs, np.bool_)
        return self._lanes.observations.copy(), rewards, terminated, truncated, infos


def piles(opponents: Sequence[str | Agent] = ("random",), render_mode: str | None = None, **rules: Any) -> SeatEnv:
    """`gymnasium.make("Piles-v0", opponents=["greedy"], num_players=2, ...)`."""
    return SeatEnv(piles_env.make_game(**rules), opponents, render_mode)


def wall(opponents: Sequence[str | Agent] = ("random",), render_mode: str | None = None, **rules: Any) -> SeatEnv:
    """`gymnasium.make("Wall-v0", opponents=["greedy"], num_players=4, ...)`."""
    return SeatEnv(wall_env.make_game(**rules), opponents, render_mode)


def piles_vector(num_envs: int, opponents: Sequence[str | Agent] = ("random",), **rules: Any) -> SeatVectorEnv:
    """`gymnasium.make_vec("Piles-v0", num_envs, opponents=["greedy"], ...)`."""
    return SeatVectorEnv(piles_env.make_game(**rules), num_envs, opponents)


def wall_vector(num_envs: int, opponents: Sequence[str | Agent] = ("random",), **rules: Any) -> SeatVectorEnv:
    """`gymnasium.make_vec("Wall-v0", num_envs, opponents=["greedy"], ...)`."""
    return SeatVectorEnv(wall_env.make_game(**rules), num_envs, opponents)
