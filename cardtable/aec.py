"""A card game as a PettingZoo environment (AEC: agents act one after another)."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo.utils import wrappers
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.env_logger import EnvLogger

from cardtable.chance import episode_seeds, lane_seeds
from cardtable.game import Game, IllegalAction, States
from cardtable.records import GameRecord

Observation: TypeAlias = dict[str, NDArray[np.int8]]
_RENDER_MODES = ("human", "ansi")


class NotReset(RuntimeError, AttributeError):
    """Something was asked of an environment that has not been reset; also an AttributeError, for `hasattr`."""


@dataclass(frozen=True)
class EnvState:
    """A position of an environment, with the rewards that have not been handed out; see `TableEnv.clone_state`."""

    states: States
    agents: tuple[str, ...]
    agent_selection: str
    rewards: dict[str, float]
    cumulative_rewards: dict[str, float]
    returns: dict[str, float]
    terminations: dict[str, bool]
    truncations: dict[str, bool]


class TableEnv(AECEnv[str, Observation, int]):
    """The raw environment of a game: an illegal action raises `IllegalAction` and changes nothing.

    Observations are `{"observation": int8 [D], "action_mask": int8 [A]}`, new arrays each time. The mask marks the
    legal actions of the player to move; it is all zeros for a seat that is not to move or done. Rewards are floats.

    Args:
        game: the game with its rules.
        name: the environment's name with version ("piles_v0").
        render_mode: None; "ansi": `render()` returns text; "human": text is printed after each step.
            Text shows all cards.

    Raises:
        ValueError: if the render mode is unknown.
    """

    def __init__(self, game: Game, name: str, render_mode: str | None = None) -> None:
        super().__init__()
        if render_mode is not None and render_mode not in _RENDER_MODES:
            raise ValueError(f"render_mode must be None, {' or '.join(map(repr, _RENDER_MODES))}, not {render_mode!r}")
        self.metadata = {
            "render_modes": list(_RENDER_MODES),
            "name": name,
            "is_parallelizable": False,
            "render_fps": 2,
        }
        self.game = game
        self.render_mode = render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(game.num_players)]
        self.agents = self.possible_agents[:]
        layout = game.layout
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(layout.low, layout.high, dtype=np.int8),
                    "action_mask": spaces.Box(0, 1, (game.num_actions,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(game.num_actions) for agent in self.possible_agents}
        self.state_space = spaces.Box(
            np.tile(layout.low, game.num_players), np.tile(layout.high, game.num_players), dtype=np.int8
        )
        self._seat = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._lane: NDArray[np.uint64] | None = None  # the stream from which games get their seeds
        self._episode = 0
        self._states = game.empty_states(0)  # one record after `reset`
        self._returns: dict[str, float] = {}  # sums of rewards in the present game

    def __repr__(self) -> str:
        return f"{self.metadata['name']}({self.game.rules!r})"

    def observation_space(self, agent: str) -> spaces.Dict:  # a Space of dicts by name
        """The space of an agent's observations; always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The space of an agent's actions; always the same object."""
        return self.action_spaces[agent]

    def __getattr__(self, name: str) -> Any:
        if name in ("agent_selection", "rewards", "_cumulative_rewards", "terminations", "truncations", "infos"):
            raise NotReset(f"call reset() before using {name}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _need_reset(self, what: str) -> None:
        if not len(self._states):
            raise NotReset(f"call reset() before {what}")

    def close(self) -> None:
        """Nothing is held open."""

    # --- playing ------------------------------------------------------------------------------------------------------

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a new game.

        Args:
            seed: starts a new stream of games; None continues the present one (or, the first time, one that the
                operating system seeds).
            options: for this game alone. `state`: a position [1] to start from (`env.unwrapped.clone_state().states`);
                otherwise what `Game.reset_state` of the game knows, such as `deal`.

        Raises:
            ValueError: if an option is unknown or its value is not possible.
        """
        options = dict(options or {})
        options.pop("options", None)  # PettingZoo's api_test passes {"options": 1} to every environment
        if seed is not None or self._lane is None:
            lane, episode = lane_seeds(seed, 1), 0
        else:
            lane, episode = self._lane, self._episode + 1
        game_seed = episode_seeds(lane, np.array([episode]))
        if "state" in options:
            states = self._check_state(options.pop("state"))
            if options:
                raise ValueError(
                    f"reset option 'state' sets all of a game; it does not go with {next(iter(options))!r}"
                )
        elif options:
            states = self.game.reset_state(int(game_seed[0]), options)
        else:
            states = self.game.new_states(game_seed)
        self._lane, self._episode, self._states = lane, episode, states
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._returns = dict.fromkeys(self.agents, 0.0)
        over = bool(states["to_move"][0] < 0)
        self.terminations = dict.fromkeys(self.agents, over)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.possible_agents[max(0, int(states["to_move"][0]))]
        self._skip_agent_selection = None

    def _check_state(self, states: Any) -> States:
        if not isinstance(states, np.ndarray) or states.dtype != self.game.state_dtype or states.shape != (1,):
            raise ValueError(
                "reset option 'state' is a record array of shape (1,) and of this game's state_dtype, "
                f"not {type(states).__name__}"
            )
        self.game.check_state(states)
        return states.copy()

    def step(self, action: int | None) -> None:  # None is how an agent that is done steps
        """Carry out the action of the agent that is to move; an agent that is done passes None.

        Raises:
            IllegalAction: if the action is not legal; nothing has changed then.
            RuntimeError: before the first `reset`.
        """
        self._need_reset("step()")
        if not self.agents:
            raise RuntimeError("the game is over and all agents are done; call reset() to play again")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        chosen = self.game.check_action(action)
        rewards = np.empty((1, len(self.possible_agents)))
        if self.game.try_step(self._states, np.array([chosen], np.int64), rewards) >= 0:
            raise self.game.illegal_action(self._states[0], chosen)
        self._cumulative_rewards[agent] = 0.0
        seat = int(self._states["to_move"][0])
        for name, reward in zip(self.possible_agents, rewards[0].tolist(), strict=True):
            self.rewards[name] = reward
            self._cumulative_rewards[name] += reward
            self._returns[name] += reward
        if seat < 0:
            self.terminations = dict.fromkeys(self.agents, True)
            self.agent_selection = self.agents[0]
        else:
            self.agent_selection = self.possible_agents[seat]
        if self.render_mode == "human":
            self.render()

    def forfeit(self) -> None:
        """End the game here; the agent that is to move gets the lowest return of the game, the others nothing more."""
        agent = self.agent_selection
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict.fromkeys(self.agents, 0.0)
        # What `last()` has handed out counts, also what it has only just handed out.
        self.rewards[agent] = self.game.return_range[0] - self._returns[agent]
        self._accumulate_rewards()
        self._returns[agent] = self.game.return_range[0]
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        self._deads_step_first()

    def observe(self, agent: str) -> Observation:
        """What an agent sees now, the mover or not."""
        self._need_reset("observe()")
        observations, masks = self.game.show(self._states, np.array([self._seat[agent]]))
        if self.terminations.get(agent, True) or self.truncations[agent]:
            masks[0] = 0
        return {"observation": observations[0], "action_mask": masks[0]}

    def state(self) -> NDArray[np.int8]:
        """All seats' observations one after another, int8 [P * D]: all that anybody knows, for a central critic."""
        self._need_reset("state()")
        seats = np.arange(self.game.num_players)
        return self.game.show(np.repeat(self._states, len(seats)), seats)[0].ravel()

    # --- looking ------------------------------------------------------------------------------------------------------

    def render(self) -> str | None:
        """The position as text, with all cards shown: returned ("ansi") or printed ("human")."""
        if self.render_mode is None:
            raise ValueError("no render_mode was given; make the environment with render_mode='ansi' or 'human'")
        self._need_reset("render()")
        text = self.game.render(self._states[0])
        if self.render_mode == "ansi":
            return text
        print(text, end="\n\n")
        return None

    def record(self) -> GameRecord:
        """The record of the game so far."""
        self._need_reset("record()")
        return self.game.to_record(self._states[0], self.possible_agents)

    # --- copies -------------------------------------------------------------------------------------------------------

    def clone_state(self) -> EnvState:
        """The present position, rewards that agents have still to receive included; later steps do not change it."""
        self._need_reset("clone_state()")
        return EnvState(
            self._states.copy(),
            tuple(self.agents),
            self.agent_selection,
            dict(self.rewards),
            dict(self._cumulative_rewards),
            dict(self._returns),
            dict(self.terminations),
            dict(self.truncations),
        )

    def restore_state(self, saved: EnvState) -> None:
        """Go back to a position of `clone_state`, of this environment or another one with the same rules."""
        self._states = self._check_state(saved.states)
        self.agents = list(saved.agents)
        self.agent_selection = saved.agent_selection
        self.rewards = dict(saved.rewards)
        self._cumulative_rewards = dict(saved.cumulative_rewards)
        self._returns = dict(saved.returns)
        self.terminations = dict(saved.terminations)
        self.truncations = dict(saved.truncations)
        self.infos = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None


class TerminateIllegal(wrappers.BaseWrapper):
    """An illegal action ends the game and gives the player who chose it the lowest return of the game.

    The same as PettingZoo's wrapper of that name, but what is legal is asked of the position and not of the last mask
    seen, and the return is exact, whatever dense rewards the player had before.
    """

    def step(self, action: int | None) -> None:
        raw: TableEnv = self.env
        try:
            raw.step(action)
        except IllegalAction:
            raw.game.check_action(action)  # what is no action id at all still raises
            EnvLogger.warn_on_illegal_move()
            raw.forfeit()

    def __str__(self) -> str:
        return str(self.env)


def wrap(raw_env: TableEnv) -> AECEnv[str, Observation, int]:
    """Add the wrappers that PettingZoo's own environments have.

    An illegal action ends the game and gives the player who chose it the lowest return of the game; an action that is
    no action id, or a call out of order, raises.
    """
    env: Any = TerminateIllegal(raw_env)
    env = wrappers.AssertOutOfBoundsWrapper(env)
    return wrappers.OrderEnforcingWrapper(env)
