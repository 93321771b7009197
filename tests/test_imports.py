"""Importing the games is quick, loads and compiles nothing in vain, and works where nothing can be written."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.playing import ROOT

PACKAGES = ("cardtable", "piles_env", "wall_env")


def run(script: str, folder: Path = ROOT, **environment: str) -> Any:
    """Run a script in a process of its own, in a folder that holds the packages; return the JSON that it prints."""
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


LOADED = """
import json, sys
import piles_env, wall_env
print(json.dumps(sorted(sys.modules)))
"""

COMPILED = """
import json, sys
import piles_env, wall_env
functions = {
    f"{name}.{attribute}": len(value.signatures)
    for name, module in sys.modules.items() if name.split(".")[0] in ("cardtable", "piles_env", "wall_env")
    for attribute, value in vars(module).items() if isinstance(getattr(value, "signatures", None), list)
}
print(json.dumps(functions))
"""

TIMED = """
import json, time
import numba, gymnasium, pettingzoo
start = time.perf_counter()
import piles_env, wall_env
print(json.dumps(time.perf_counter() - start))
"""


def test_nothing_heavy_is_loaded() -> None:
    modules = run(LOADED)
    assert {"piles_env", "wall_env", "numba", "numpy", "gymnasium", "pettingzoo"} <= set(modules)
    heavy = {"torch", "pandas", "matplotlib", "pygame", "stable_baselines3", "sb3_contrib", "tensorboard", "tkinter"}
    assert not heavy & set(modules)
    assert not {name for name in modules if name.split(".")[0] in ("agents", "experiments", "tests")}


@pytest.mark.parametrize("package", PACKAGES[1:])
def test_one_game_does_not_load_the_other(package: str) -> None:
    modules = run(f"import json, sys, {package}; print(json.dumps(sorted(sys.modules)))")
    other = next(name for name in PACKAGES[1:] if name != package)
    assert package in modules and "cardtable" in modules
    assert not {name for name in modules if name.split(".")[0] == other}


def test_nothing_is_compiled() -> None:
    signatures = run(COMPILED)
    assert {"piles_env.engine.place", "wall_env.engine.play", "cardtable.chance.below"} <= set(signatures)
    assert not {name for name, count in signatures.items() if count}


def test_import_takes_less_than_a_second() -> None:
    assert min(run(TIMED) for _ in range(3)) < 1.0


# --- where nothing can be written -------------------------------------------------------------------------------------

PLAYED = """
import json, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("default")
    import piles_env, wall_env
    from cardtable import kernel
    env = {package}.env(num_players=2)
    env.reset(seed=0)
    turns = 0
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        turns += not terminated
        env.step(None if terminated else int(observation["action_mask"].argmax()))
    warned = [(message.category.__name__, str(message.message)) for message in caught]
print(json.dumps([turns, warned, kernel.__file__]))
"""


def copy_without_cache(folder: Path) -> None:
    """The packages in a folder where no `__pycache__` can be made, as a regular file stands there (root may write)."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
        for inner in (folder / package, *(path for path in (folder / package).rglob("*") if path.is_dir())):
            (inner / "__pycache__").write_text("a file, so no folder")


@pytest.mark.parametrize("package", ["piles_env", pytest.param("wall_env", marks=pytest.mark.slow)])
def test_a_game_can_be_played_where_no_compiled_code_can_be_kept(package: str, tmp_path: Path) -> None:
    """It is compiled again in each process, and one warning says so."""
    copy_without_cache(tmp_path)
    blocked = tmp_path / "file"
    blocked.write_text("a file, so nothing can be made under it")
    nowhere = str(blocked / "cache")
    script = PLAYED.replace("{package}", package)
    turns, warned, kernel = run(script, tmp_path, NUMBA_CACHE_DIR=nowhere, XDG_CACHE_HOME=nowhere, HOME=nowhere)
    assert Path(kernel).is_relative_to(tmp_path)
    assert turns >= 40
    assert {category for category, _ in warned} == {"RuntimeWarning"}
    assert all("NUMBA_CACHE_DIR" in message for _, message in warned)
    assert not list(tmp_path.rglob("*.nb?"))
    assert len(warned) == 1


def test_compiled_code_is_kept_where_the_user_says(tmp_path: Path) -> None:
    """A read-only package folder and a writable cache folder: no warning, and the code is stored there."""
    packages, cache = tmp_path / "packages", tmp_path / "cache"
    copy_without_cache(packages)
    script = """
import json, warnings
warnings.simplefilter("error")
import piles_env
from cardtable import chance
import numpy as np
print(json.dumps(int(chance.below(np.uint64(1), 1, 0, 1))))
"""
    assert run(script, packages, NUMBA_CACHE_DIR=str(cache)) == 0
    assert list(cache.rglob("*.nbc"))
    assert not list(packages.rglob("*.nb?"))


@pytest.mark.parametrize("keep_times", [False, True], ids=["new time", "same time"])
def test_a_change_of_the_source_is_not_hidden_by_compiled_code_that_was_kept(keep_times: bool, tmp_path: Path) -> None:
    """What calls a function of another file must be compiled again when that file changes, as by an upgrade.

    Reproducible builds give all files one time, and a change of a digit keeps the size.
    """
    packages, cache = tmp_path / "packages", tmp_path / "cache"
    copy_without_cache(packages)
    script = """
import json
import piles_env
game = piles_env.PilesGame()
states = game.empty_states(1)
states["num_players"] = 4
states["under"][0, 0] = 1 << 13  # a black ace, under a red one
print(json.dumps(game.scores(states)[0].tolist()))
"""
    assert run(script, packages, NUMBA_CACHE_DIR=str(cache)) == [9, 0]
    engine = packages / "piles_env" / "engine.py"
    source, times = engine.read_text(), engine.stat()
    assert "8 * popcount(cards & ACES)" in source
    engine.write_text(source.replace("8 * popcount(cards & ACES)", "7 * popcount(cards & ACES)"))
    if keep_times:
        os.utime(engine, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert run(script, packages, NUMBA_CACHE_DIR=str(cache)) == [8, 0]
