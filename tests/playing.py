"""What the tests of the interfaces share: the games with all their options, and ways to play them at random."""

import copy
import hashlib
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray
from pettingzoo.utils.env import AECEnv

import piles_env
import wall_env
from cardtable.aec import Observation, TableEnv
from cardtable.game import Game, Ints, States, make_game

ROOT = Path(__file__).resolve().parent.parent
CLAUSE = re.compile(r"\b(PD?|WD?)\d+\b")
Env: TypeAlias = AECEnv[str, Observation, int]

# --- the games --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A game with options."""

    package: ModuleType
    options: dict[str, Any] = field(hash=False)

    @property
    def is_piles(self) -> bool:
        return self.package is piles_env

    @property
    def game(self) -> Game:
        return make_game("piles-v0" if self.is_piles else "wall-v0", **self.options)

    @property
    def label(self) -> str:
        name = "piles" if self.is_piles else "wall"
        return "-".join([name, *(f"{option}={value}" for option, value in self.options.items())])

    def env(self, **more: Any) -> Env:
        return self.package.env(**self.options, **more)

    def raw_env(self, **more: Any) -> TableEnv:
        raw: TableEnv = self.package.raw_env(**self.options, **more)
        return raw


PILES_CASES = [
    Case(piles_env, options)
    for options in (
        {},
        {"num_players": 2},
        {"reward": "win"},
        {"reward": "dense"},
        {"opener_may_pass": True},
        {"passed_cards": "hidden"},
        {"passed_cards": "hidden", "reward": "dense"},
        {"passed_cards": "hidden", "reward": "win", "opener_may_pass": True},
        {"num_players": 2, "reward": "dense"},
        {"num_players": 2, "reward": "win", "opener_may_pass": True},
        {"num_players": 2, "passed_cards": "hidden", "reward": "dense"},
    )
]
WALL_CASES = [
    Case(wall_env, options)
    for options in (
        {},
        {"num_players": 1},
        {"num_players": 1, "reward": "win", "ends": "deck"},
        {"num_players": 1, "reward": "score", "num_decks": 2},
        {"num_players": 1, "reward": "dense", "max_width": 4},
        {"num_players": 2, "reward": "win", "jokers_per_deck": 0},
        {"num_players": 2, "num_decks": 2, "ends": "deck"},
        {"num_players": 3, "reward": "dense", "max_width": 6},
        {"num_players": 3, "reward": "win", "max_width": 2, "ends": "deck"},
        {"num_players": 4, "reward": "score", "jokers_per_deck": 1},
        {"num_players": 4, "jokers_per_deck": 4},
        {"num_players": 5, "max_width": 1, "reward": "win"},
        {"num_players": 5, "num_decks": 2, "jokers_per_deck": 3, "max_width": 9},
        {"num_players": 6, "reward": "dense"},
        {"num_players": 6, "num_decks": 2, "jokers_per_deck": 4, "reward": "win"},
    )
]
CASES = PILES_CASES + WALL_CASES


def over(cases: list[Case]) -> pytest.MarkDecorator:
    """Run a test for each of the cases, as its argument `case`."""
    return pytest.mark.parametrize("case", cases, ids=[case.label for case in cases])


# --- random games -----------------------------------------------------------------------------------------------------


@cache
def preferences(game: Game) -> NDArray[np.float64]:
    """How much a random player likes each action: enough to pass often in Piles, and to build high in Wall."""
    liking = np.ones(game.num_actions)
    if game.name == "piles-v0":
        liking[312] = 8.0
    else:
        liking[6:12] = [8.0, 3.0, 0.3, 1.0, 2.0, 2.0]  # draw, take, pass, discard, left, right
        liking[12:] = 4.0  # build
    return liking


def pick(game: Game, masks: NDArray[np.int8], draws: NDArray[np.float64]) -> Ints:
    """A legal action for each mask [B, A], by a number [B] between 0 and 1 each."""
    edges = (masks * preferences(game)).cumsum(axis=1)
    chosen: Ints = (edges <= draws[:, None] * edges[:, -1:]).sum(axis=1)
    return chosen


@dataclass(frozen=True)
class Played:
    """Random games: of each a random position with a player to move, and the end."""

    middle: States
    end: States


def play_games(game: Game, count: int, seed: int) -> Played:
    """Play games at random to their ends."""
    rng = np.random.default_rng(seed)
    states = game.new_states(rng.integers(1 << 63, size=count, dtype=np.uint64))
    middle, lanes, steps = states.copy(), np.arange(count), 1
    while len(lanes):
        moving = states[lanes]
        game.step(moving, pick(game, game.action_mask(moving), rng.random(len(lanes))))
        states[lanes] = moving
        lanes, steps = lanes[~game.terminated(moving)], steps + 1
        kept = lanes[rng.random(len(lanes)) < 1 / steps]  # so that each position of a game is equally likely
        middle[kept] = states[kept]
    return Played(middle, states)


def positions(game: Game, count: int, seed: int = 0) -> States:
    """Random positions [count] with a player to move, each of another game."""
    return play_games(game, count, seed).middle


@dataclass(frozen=True)
class Walk:
    """One random game: all its positions, as batches of one, and the actions between them."""

    states: list[States]
    actions: list[int]


def walk(game: Game, seed: int, start: States | None = None) -> Walk:
    """Play one game at random, from its deal or from a given position; its actions depend on `seed` alone."""
    rng = np.random.default_rng(seed)
    states = game.new_states(np.array([seed], np.uint64)) if start is None else start.copy()
    walked = Walk([states.copy()], [])
    while not game.terminated(states)[0]:
        action = pick(game, game.action_mask(states), rng.random(1))
        game.step(states, action)
        walked.actions.append(int(action[0]))
        walked.states.append(states.copy())
    return walked


def rows(states: States) -> Iterator[States]:
    """Each position of a batch as a batch of one."""
    for lane in range(len(states)):
        yield states[lane : lane + 1].copy()


def contents(records: NDArray[np.void]) -> bytes:
    """The bytes of all fields of records, without what lies between the fields."""
    return b"".join(records[name].tobytes() for name in records.dtype.names or ())


def observe_all(game: Game, states: States) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """What every seat sees of one position [1]: observations [P, D] and masks [P, A]."""
    return game.observe(view_all(game, states))


def view_all(game: Game, states: States) -> NDArray[np.void]:
    """The views [P] of one position [1]."""
    return game.view(np.repeat(states, game.num_players), np.arange(game.num_players))


def trajectory_digest(seed: int) -> str:
    """A hash of all that happens in a random game of each case."""
    digest = hashlib.sha256()
    for case in CASES:
        game = case.game
        walked = walk(game, seed)
        digest.update(np.array(walked.actions).tobytes())
        for states in walked.states:
            digest.update(observe_all(game, states)[0].tobytes())
            digest.update(game.rewards(states).tobytes())
    return digest.hexdigest()


# --- environments -----------------------------------------------------------------------------------------------------


def saved(env: Env) -> TableEnv:
    """The raw environment within an environment."""
    raw = env.unwrapped
    assert isinstance(raw, TableEnv)
    return raw


def fingerprint(env: Env) -> tuple[Any, ...]:
    """All that an environment's position consists of, to compare."""
    state = saved(env).clone_state()
    parts = [getattr(state, part.name) for part in fields(state) if part.name != "states"]
    return (contents(state.states), *copy.deepcopy(parts))


def play_episode(
    env: Env, seed: int, look: Callable[[str, Observation, bool], None] | None = None
) -> dict[str, list[tuple[float, bool]]]:
    """Play on at random to the end by the usual loop; return by agent each reward of `last()`, and if he was done."""
    rng = np.random.default_rng(seed)
    game = saved(env).game
    seen: dict[str, list[tuple[float, bool]]] = {agent: [] for agent in env.possible_agents}
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        done = terminated or truncated
        seen[agent].append((reward, done))
        if look is not None:
            look(agent, observation, done)
        env.step(None if done else int(pick(game, observation["action_mask"][None], rng.random(1))[0]))
    return seen


def returns(seen: dict[str, list[tuple[float, bool]]]) -> list[float]:
    """The sum of each seat's rewards."""
    return [math.fsum(reward for reward, _ in rewards) for rewards in seen.values()]


def play_steps(env: Env, count: int, seed: int) -> None:
    """Take up to `count` random actions, but not the last of the game."""
    raw = saved(env)
    path = walk(raw.game, seed, raw.clone_state().states)
    for action in path.actions[: min(count, len(path.actions) - 1)]:
        env.step(action)


# --- statistics -------------------------------------------------------------------------------------------------------


def is_uniform(counts: NDArray[np.int64], weights: NDArray[np.float64] | None = None, sigmas: float = 4) -> bool:
    """Chi-square test against equal (or given) weights; with 4 sigmas true samples fail once in 30,000 times."""
    shares = np.ones(len(counts)) if weights is None else weights
    expected = counts.sum() * shares / shares.sum()
    statistic = float(((counts - expected) ** 2 / expected).sum())
    freedom = len(counts) - 1
    spread = 2 / (9 * freedom)  # Wilson and Hilferty: the cube root of chi-square / freedom is nearly normal
    return statistic < freedom * (1 - spread + sigmas * math.sqrt(spread)) ** 3
