"""Other suites' environments, measured as their users drive them, where they are installed (extra `benchmark`)."""

import importlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Rate = Callable[[float], float]  # seconds to spend -> steps a second


def aec_rate(make: Callable[[], Any], seconds: float) -> float:
    """Steps a second of a PettingZoo environment under random legal play, by the usual `agent_iter` loop."""
    env = make()
    numbers = np.random.default_rng(0).random(1 << 16).tolist()
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        env.reset(seed=steps)
        for _agent in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            legal = observation["action_mask"].nonzero()[0]
            env.step(int(legal[int(numbers[steps & 0xFFFF] * len(legal))]))
            steps += 1
    return steps / (time.perf_counter() - began)


def pettingzoo_peers() -> dict[str, Rate]:
    """PettingZoo's own games with masks, `raw_env` and `env`, as far as they can be imported."""
    peers: dict[str, Rate] = {}
    for name in ("connect_four_v3", "tictactoe_v3", "leduc_holdem_v4", "chess_v6"):
        try:
            module = importlib.import_module(f"pettingzoo.classic.{name}")
        except ImportError:
            continue
        for maker in ("raw_env", "env"):
            make = getattr(module, maker)
            peers[f"PettingZoo {name} {maker}"] = partial(aec_rate, make)
    return peers


def open_spiel_peers() -> dict[str, Rate]:
    """OpenSpiel's card games from Python, with tensor and mask at each decision."""
    try:
        pyspiel = importlib.import_module("pyspiel")
    except ImportError:
        return {}
    return {
        f"OpenSpiel {name}, Python, tensor and mask": partial(_tensor_rate, pyspiel, name)
        for name in ("spades", "hearts", "gin_rummy")
    }


def open_spiel_bots() -> dict[str, Rate]:
    """OpenSpiel's spades between random bots, all in C++."""
    try:
        pyspiel = importlib.import_module("pyspiel")
    except ImportError:
        return {}
    return {"OpenSpiel spades, C++ random bots": partial(_bot_rate, pyspiel, "spades")}


def open_spiel_searches() -> dict[str, Rate]:
    """OpenSpiel's searches in C++, with random rollouts, at the first card of bridge: simulations a second."""
    try:
        pyspiel = importlib.import_module("pyspiel")
    except ImportError:
        return {}
    evaluator = pyspiel.RandomRolloutEvaluator(1, 0)

    def mcts() -> Any:
        return pyspiel.MCTSBot(pyspiel.load_game(_BRIDGE), evaluator, 2.0, _SIMULATIONS, 1000, False, 1, False)

    def ismcts() -> Any:
        final = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
        return pyspiel.ISMCTSBot(1, evaluator, 2.0, _SIMULATIONS, -1, final, True, False)

    return {
        "OpenSpiel bridge play, C++ MCTSBot": partial(_search_rate, pyspiel, mcts),
        "OpenSpiel bridge play, C++ ISMCTSBot": partial(_search_rate, pyspiel, ismcts),
    }


_BRIDGE = "bridge(use_double_dummy_result=false)"  # so that the cards are played
_SIMULATIONS = 1000
_PASS, _ONE_NO_TRUMP = 52, 59  # action ids of the auction: pass, double, redouble, 1C, 1D, 1H, 1S, 1NT ...


def _search_rate(pyspiel: Any, make_bot: Callable[[], Any], seconds: float) -> float:
    state = pyspiel.load_game(_BRIDGE).new_initial_state()
    numbers = np.random.default_rng(0)
    while state.is_chance_node():
        state.apply_action(int(numbers.choice(state.legal_actions())))
    for call in (_ONE_NO_TRUMP, _PASS, _PASS, _PASS):
        state.apply_action(call)
    bot = make_bot()
    simulations, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        bot.step(state)
        simulations += _SIMULATIONS
    return simulations / (time.perf_counter() - began)


def _tensor_rate(pyspiel: Any, name: str, seconds: float) -> float:
    game = pyspiel.load_game(name)
    numbers = np.random.default_rng(0).random(1 << 16).tolist()
    by_information = game.get_type().provides_information_state_tensor
    steps = drawn = 0
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        state = game.new_initial_state()
        while not state.is_terminal():
            drawn += 1
            if not state.is_chance_node():
                np.asarray(
                    state.information_state_tensor() if by_information else state.observation_tensor(), np.float32
                )
                state.legal_actions_mask()
                steps += 1
            legal = state.legal_actions()
            state.apply_action(legal[int(numbers[drawn & 0xFFFF] * len(legal))])
    return steps / (time.perf_counter() - began)


def _bot_rate(pyspiel: Any, name: str, seconds: float) -> float:
    game = pyspiel.load_game(name)
    bots = [pyspiel.make_uniform_random_bot(player, player) for player in range(game.num_players())]
    deal = 52  # chance's moves at the start, which are no decisions
    steps, number, began = 0, 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        state = game.new_initial_state()
        pyspiel.evaluate_bots(state, bots, number)
        steps += state.move_number() - deal
        number += 1
    return steps / (time.perf_counter() - began)
