"""`python -m experiments benchmark`: how fast everything is, beside what else is installed, in one run."""

import argparse
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import piles_env
import wall_env
from agents import make_agent
from cardtable.bits import load_word, popcount
from cardtable.chance import TIE, below, lane_seeds
from cardtable.game import Game, Ints, LaneBuffers
from cardtable.kernel import kernel
from cardtable.vector import TableVectorEnv
from experiments import peers
from experiments.evaluate import table
from experiments.files import write_atomically
from experiments.progress import bar
from piles_env import PilesGame

_GAMES: dict[str, Any] = {"Piles": piles_env, "Wall": wall_env}
_BATCHES = (1, 16, 256, 1024, 4096, 16384, 65536)
_PLAYOUTS = 2000
_COLD = """
import time
began = time.perf_counter()
import {package}
imported = time.perf_counter()
env = {package}.vector_env(2)
_, infos = env.reset(seed=1)
env.step(infos["action_mask"].argmax(axis=1))
raw = {package}.raw_env()
raw.reset(seed=1)
raw.step(int(raw.last()[0]["action_mask"].argmax()))
game = raw.game
game.playout(game.new_states([1]), [1])
print(imported - began, time.perf_counter() - imported)
"""


@kernel
def _choose_random(masks: NDArray[np.int8], seeds: NDArray[np.uint64], out: Ints) -> None:
    """Write a uniformly random legal action for each mask [B, A] into `out` [B], by one seed [B] each."""
    num_actions = masks.shape[1]
    for lane in range(len(masks)):
        mask, count, action = masks[lane], 0, 0
        while action + 8 <= num_actions:  # eight flags at a time
            count += popcount(load_word(mask, action))
            action += 8
        for rest in range(action, num_actions):
            count += mask[rest]
        left, action = below(seeds[lane], TIE, 0, count), 0
        while action + 8 <= num_actions and left >= popcount(load_word(mask, action)):
            left -= popcount(load_word(mask, action))
            action += 8
        left -= mask[action]
        while left >= 0:
            action += 1
            left -= mask[action]
        out[lane] = action


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=1.0, help="time for one measurement (default 1)")
    parser.add_argument(
        "--repeats", type=int, default=5, help="measurements of each figure; the median counts (default 5)"
    )
    parser.add_argument("--out", type=Path, default=Path("benchmark.json"), help="JSON file (default benchmark.json)")


def run(arguments: argparse.Namespace) -> None:
    if arguments.seconds <= 0 or arguments.repeats < 1:
        raise ValueError("--seconds must be more than 0 and --repeats at least 1")
    result = measure(arguments.seconds, arguments.repeats)
    print(report(result))
    write_atomically(arguments.out, lambda file: file.write_text(json.dumps(result, indent=2) + "\n"))
    print(f"\nAll figures are in {arguments.out}.")


def measure(seconds: float, repeats: int) -> dict[str, Any]:
    """All figures: rates in steps a second, times in seconds, sizes in bytes."""
    cores = _pin()
    rates: dict[str, Callable[[float], float]] = {
        **{f"{name} bare {policy} playouts": _playout_rate(package, policy)
           for name, package in _GAMES.items() for policy in ("random", "greedy")},
        **peers.open_spiel_bots(),
        **{f"{name} vector, {lanes} lanes": _vector_rate(package, lanes)
           for name, package in _GAMES.items() for lanes in _BATCHES},
        **peers.open_spiel_peers(),
        **{f"{name} PettingZoo {maker}": _aec_rate(getattr(package, maker))
           for name, package in _GAMES.items() for maker in ("raw_env", "env")},
        **peers.pettingzoo_peers(),
        **{f"Piles simulations, {policy} playouts from the start": _game_rate(policy)
           for policy in ("random", "greedy", "careful")},
        **{f"Piles simulations, {name} at the start": _simulation_rate(name) for name in ("pimc", "ismcts")},
        **peers.open_spiel_searches(),
        "memory bandwidth (bytes written)": _bandwidth,
    }  # fmt: skip
    samples: dict[str, list[float]] = {name: [] for name in rates}
    progress = bar(len(rates) * repeats, "benchmark", unit="figure")
    for _ in range(repeats):  # round by round, so that a change of the machine's speed meets all alike
        for name, rate in rates.items():
            samples[name].append(rate(seconds))
            gc.collect()
            progress.update()
    progress.close()
    result: dict[str, Any] = {
        "machine": {"platform": platform.platform(), "processor": _processor(), "python": platform.python_version()},
        "versions": {name: _version(name) for name in ("piles-wall", "numpy", "numba", "open-spiel", "pettingzoo")},
        "seconds": seconds,
        "repeats": repeats,
        "rates": {name: float(np.median(values)) for name, values in samples.items()},
        "all": samples,
        "bytes per lane": {name: _lane_bytes(package) for name, package in _GAMES.items()},
        "bytes per step": {name: _step_bytes(package) for name, package in _GAMES.items()},
    }
    result["milliseconds a move"] = {
        f"{name} {spec}": _move_time(package, spec) for name, package, spec in (
            ("Piles", piles_env, "careful"), ("Piles", piles_env, "pimc:playouts=1000"),
            ("Piles", piles_env, "ismcts:playouts=1000"), ("Wall", wall_env, "builder"),
            ("Wall", wall_env, "mcts:playouts=1000"))
    }  # fmt: skip
    _unpin(cores)
    result["threads"] = {name: _thread_ratio(package, seconds, repeats) for name, package in _GAMES.items()}
    result["compile"] = {name: _compile_times(package.__name__) for name, package in _GAMES.items()}
    result["resident memory"] = _memory_growth()
    result["training"] = _training()
    return result


# --- what is measured -------------------------------------------------------------------------------------------------


def _playout_rate(package: Any, policy: str) -> Callable[[float], float]:
    game: Game = package.make_game()

    def rate(seconds: float) -> float:
        number, steps, began = 0, 0, time.perf_counter()
        states = game.empty_states(_PLAYOUTS)
        while not number or time.perf_counter() - began < seconds:
            seeds = lane_seeds(number, _PLAYOUTS)
            steps += game.playout(game.new_states(seeds, out=states), seeds, policy)
            number += 1
        return steps / (time.perf_counter() - began)

    return rate


def _game_rate(policy: str) -> Callable[[float], float]:
    """Games of Piles a second, from the first card to the last, without dealing."""
    game = piles_env.make_game()
    seeds = lane_seeds(0, _PLAYOUTS)
    deals = game.new_states(seeds)

    def rate(seconds: float) -> float:
        states = deals.copy()
        games, began = 0, time.perf_counter()
        while not games or time.perf_counter() - began < seconds:
            states[:] = deals
            game.playout(states, seeds, policy)
            games += _PLAYOUTS
        return games / (time.perf_counter() - began)

    return rate


def _simulation_rate(name: str) -> Callable[[float], float]:
    """Simulations a second of a search with 1,000 playouts, in which all cards are still to be played."""
    game = piles_env.make_game()
    agent = make_agent(f"{name}:playouts=1000", game)
    states = game.new_states(lane_seeds(0, 1))
    views = game.view(states, game.current_player(states))

    def rate(seconds: float) -> float:
        simulations, began = 0, time.perf_counter()
        while not simulations or time.perf_counter() - began < seconds:
            agent.act(views)
            simulations += 1000
        return simulations / (time.perf_counter() - began)

    return rate


def _move_time(package: Any, spec: str) -> float:
    """Mean milliseconds that an agent takes for a decision, over four games that it plays with itself."""
    game: Game = package.make_game()
    agent = make_agent(spec, game)
    states = game.new_states(lane_seeds(0, 4))
    agent.act(game.view(states, game.current_player(states)))  # compiles
    decisions, began = 0, time.perf_counter()
    while len(states):
        game.step(states, agent.act(game.view(states, game.current_player(states))))
        decisions += len(states)
        states = states[~game.terminated(states)]
    return 1000 * (time.perf_counter() - began) / decisions


def _vector_rate(package: Any, lanes: int) -> Callable[[float], float]:
    """Random legal play, choice included, with observation and mask written."""

    def rate(seconds: float) -> float:
        env: TableVectorEnv = package.vector_env(lanes, copy=False)
        _, infos = env.reset(seed=1)
        actions, seeds = np.empty(lanes, np.int64), lane_seeds(2, lanes)
        steps, began = 0, time.perf_counter()
        while not steps or time.perf_counter() - began < seconds:
            seeds += np.uint64(1)
            _choose_random(infos["action_mask"], seeds, actions)
            infos = env.step(actions)[4]
            steps += lanes
        elapsed = time.perf_counter() - began
        env.close()
        return steps / elapsed

    return rate


def _aec_rate(make: Callable[[], Any]) -> Callable[[float], float]:
    return lambda seconds: peers.aec_rate(make, seconds)


def _bandwidth(seconds: float) -> float:
    """Bytes a second that one core writes to memory, in arrays larger than its caches."""
    target = np.empty(1 << 28, np.int8)
    written, began = 0, time.perf_counter()
    while not written or time.perf_counter() - began < seconds:
        target.fill(written & 1)
        written += target.nbytes
    return written / (time.perf_counter() - began)


def _step_bytes(package: Any) -> int:
    """Bytes of observation and mask that a step writes."""
    game: Game = package.make_game()
    return game.layout.size + game.num_actions


def _lane_bytes(package: Any) -> float:
    """Memory of a vector environment for each lane: records and buffers."""
    buffers = LaneBuffers(package.make_game(), 1024)
    return float(sum(array.nbytes for array in vars(buffers).values()) / 1024)


def _thread_ratio(package: Any, seconds: float, repeats: int) -> float | None:
    """How much faster two threads are than one, with 4,096 lanes; None on one core."""
    if (os.cpu_count() or 1) < 2:
        return None
    ratios = []
    for _ in range(repeats):
        one, two = (_step_time(package, threads, seconds) for threads in (1, 2))
        ratios.append(one / two)
    return float(np.median(ratios))


def _step_time(package: Any, num_threads: int, seconds: float) -> float:
    """Median time of a step with 4,096 lanes, without the choice of actions."""
    env: TableVectorEnv = package.vector_env(4096, copy=False, num_threads=num_threads)
    _, infos = env.reset(seed=1)
    actions, seeds = np.empty(4096, np.int64), lane_seeds(2, 4096)
    times: list[float] = []
    while sum(times) < seconds:
        seeds += np.uint64(1)
        _choose_random(infos["action_mask"], seeds, actions)
        began = time.perf_counter()
        infos = env.step(actions)[4]
        times.append(time.perf_counter() - began)
    env.close()
    return float(np.median(times))


def _compile_times(package: str) -> dict[str, float]:
    """Seconds for a first step in vector and PettingZoo environment and a first playout, cold and from the cache."""
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("cold", "cached"):
            done = subprocess.run(
                [sys.executable, "-c", _COLD.format(package=package)],
                env={**os.environ, "NUMBA_CACHE_DIR": folder},
                capture_output=True,
                text=True,
                check=True,
            )
            times["import"], times[name] = map(float, done.stdout.split())
    return times


def _memory_growth() -> dict[str, float]:
    """Resident memory before and after 10 million steps and 20,000 resets of Piles, in bytes."""
    env = piles_env.vector_env(1024, copy=False)
    _, infos = env.reset(seed=1)
    actions, seeds = np.empty(1024, np.int64), lane_seeds(2, 1024)

    def play(steps: int) -> None:
        nonlocal infos
        for _ in range(steps // 1024):
            seeds[:] += np.uint64(1)
            _choose_random(infos["action_mask"], seeds, actions)
            infos = env.step(actions)[4]

    raw = piles_env.raw_env()
    raw.reset(seed=1)
    play(1_000_000)
    before = _resident()
    play(10_000_000)
    for _ in range(20_000):
        raw.reset()
    return {"before": before, "after": _resident()}


def _training() -> dict[str, float] | None:
    """MaskablePPO with 256 lanes: decisions a second, and the environment's share of the time without networks."""
    try:
        from sb3_contrib import MaskablePPO

        from agents.seat_vec_env import SeatVecEnv
    except ImportError:
        return None
    from experiments.train import Config, new_model

    game = PilesGame(piles_env.PilesRules(reward="dense"))
    env = SeatVecEnv(game, 256, [make_agent("greedy", game)], seed=0)
    model: MaskablePPO = new_model(env, Config())
    model.learn(8192)
    env.env_seconds, began, before = 0.0, time.perf_counter(), model.num_timesteps
    model.learn(65536, reset_num_timesteps=False)
    elapsed, steps = time.perf_counter() - began, model.num_timesteps - before
    env.reset()
    began = time.perf_counter()
    number, actions = 0, np.empty(256, np.int64)
    seeds = lane_seeds(3, 256)
    share = env.env_seconds / elapsed
    while time.perf_counter() - began < 3:
        seeds += np.uint64(1)
        _choose_random(env.lanes.masks, seeds, actions)
        env.step(actions)
        number += 256
    return {
        "decisions a second": steps / elapsed,
        "share in environment": share,
        "SeatVecEnv decisions a second": number / (time.perf_counter() - began),
    }


# --- the machine ------------------------------------------------------------------------------------------------------


def _pin() -> set[int] | None:
    """Stay on one core, where the system allows it; return the cores that were allowed."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    return cores


def _unpin(cores: set[int] | None) -> None:
    if cores is not None:
        os.sched_setaffinity(0, cores)


def _resident() -> int:
    """Resident memory of this process in bytes; where the system does not tell, the most it has been."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except ImportError:
        return None


# --- the report -------------------------------------------------------------------------------------------------------


def report(result: dict[str, Any]) -> str:
    """The figures as text: a table of rates with ratios, and the rest as lines."""
    rates: dict[str, float] = result["rates"]
    best = {name: max(rate for key, rate in rates.items() if key.startswith(f"{name} vector")) for name in _GAMES}
    bandwidth = rates["memory bandwidth (bytes written)"]
    rows = [["one core", "steps or simulations a second", "beside", "ratio"]]
    for name, rate in rates.items():
        if name.startswith("memory"):
            continue
        peer = _peer_of(name, rates)
        ratio = f"{rate / rates[peer]:.2f}" if peer else ""
        rows.append([name, f"{rate:,.0f}", peer or "", ratio])
    lines = [table(rows), ""]
    times = ", ".join(f"{name} {time:.3g}" for name, time in result["milliseconds a move"].items())
    lines.append(f"Milliseconds a move, mean over four games of the agent with itself: {times}")
    for name in _GAMES:
        share = best[name] * result["bytes per step"][name] / bandwidth
        lanes = [rates[f"{name} vector, {count} lanes"] for count in _BATCHES]
        worst = max(max(lanes[: k + 1]) / lanes[k] for k in range(len(lanes)))
        threads = result["threads"][name]
        compiled = result["compile"][name]
        size = result["bytes per lane"][name]
        lines += [
            f"{name}: {result['bytes per step'][name]} bytes of observation and mask a step, "
            f"{best[name] * result['bytes per step'][name] / 1e9:.2f} GB/s, {100 * share:.0f} % of the bandwidth "
            f"({bandwidth / 1e9:.1f} GB/s)",
            f"{name}: past the best batch a step costs up to {worst:.2f} times its best; {size:,.0f} bytes a lane",
            f"{name}: two threads are {threads:.2f} times as fast as one" if threads else f"{name}: one core only",
            f"{name}: import {compiled['import']:.2f} s, compiling {compiled['cold']:.1f} s cold, "
            f"{compiled['cached']:.2f} s from the cache",
        ]
    memory = result["resident memory"]
    lines.append(
        f"Resident memory before and after 10 million steps and 20,000 resets: {memory['before'] / 1e6:.1f} MB, "
        f"{memory['after'] / 1e6:.1f} MB"
    )
    training = result["training"]
    if training:
        lines.append(
            f"MaskablePPO on Piles, 256 lanes: {training['decisions a second']:,.0f} decisions a second, "
            f"{100 * training['share in environment']:.1f} % of the time in the environment; the environment alone "
            f"makes {training['SeatVecEnv decisions a second']:,.0f}"
        )
    lines.append(
        f"Medians of {result['repeats']} measurements of {result['seconds']:g} s; {result['machine']['processor']}"
    )
    return "\n".join(lines)


def _peer_of(name: str, rates: dict[str, float]) -> str | None:
    """The peer beside which a figure of ours is put, if it was measured."""
    if not name.startswith(tuple(_GAMES)):
        return None
    if "simulations" in name:
        peer = f"OpenSpiel bridge play, C++ {'ISMCTSBot' if 'ismcts' in name else 'MCTSBot'}"
    elif "playouts" in name:
        peer = "OpenSpiel spades, C++ random bots"
    elif "vector" in name:
        peer = "OpenSpiel spades, Python, tensor and mask"
    else:
        peer = f"PettingZoo connect_four_v3 {name.rpartition(' ')[2]}"
    return peer if peer in rates else None
