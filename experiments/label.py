"""`python -m experiments label`: positions with what search thinks of every action, to learn from.

The games are played by the search itself, or by an agent that is to learn from its own games (as in Ross, Gordon and
Bagnell, "DAgger", AISTATS 2011), with some random moves for variety. In Wall a network may take part in its trials
(expert iteration; Anthony, Tian and Barber, NeurIPS 2017). A folder is filled file by file; what is there already is
kept, so an interrupted run goes on where it was, and more positions can be added later.
"""

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import make_agent, piles_pimc, wall_mcts, wall_network_mcts
from agents.agent import Agent
from agents.network_agent import NetworkAgent
from cardtable.chance import LABEL, below, draw_each, lane_seeds
from cardtable.game import Game, Views, make_game
from experiments import games
from experiments.entrants import fingerprint
from experiments.files import write_atomically
from experiments.progress import bar
from piles_env import PilesGame

_Search = Callable[[Game, Views, int, NDArray[np.uint64]], NDArray[np.float32]]
_PER_FILE = 2000  # positions
_LANES = 10  # games side by side in one file; those that end are followed by others
_RANDOM_MOVES = 10  # per cent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    games.add_arguments(parser)
    parser.add_argument("--positions", type=int, default=200_000, help="how many in all (default 200000)")
    parser.add_argument("--playouts", type=int, default=300, help="games played for each position (default 300)")
    parser.add_argument(
        "--policy", help="Wall: a network, shipped or a file, that plays the games of the search (default: builder)"
    )
    parser.add_argument(
        "--critic", type=Path, help="Wall: the folder of a run of `train`, whose critic values how those games stand"
    )
    parser.add_argument("--player", help="an agent that plays the games (default: the search, by its values)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the games (default 0)")
    parser.add_argument("--threads", type=int, default=2, help="files made at a time (default 2)")
    parser.add_argument("--out", type=Path, required=True, help="the folder")


def run(arguments: argparse.Namespace) -> None:
    for name in ("positions", "playouts", "threads"):
        if getattr(arguments, name) < 1:
            raise ValueError(f"--{name} must be at least 1, not {getattr(arguments, name)}")
    game = games.make(arguments.game, arguments.players)
    folder: Path = arguments.out
    settings = {"game": game.name, "rules": asdict(game.rules), "playouts": arguments.playouts, "seed": arguments.seed}
    search: _Search = piles_pimc.action_values if isinstance(game, PilesGame) else wall_mcts.action_values
    if arguments.policy is not None:
        search = _by_policy(game, arguments.policy)
        settings |= {"policy": arguments.policy, "weights": fingerprint(f"policy:{arguments.policy}")}
    if arguments.critic is not None:
        if arguments.policy is not None:
            raise ValueError("give --policy or --critic, not both")
        search, decisions = _by_critic(game, arguments.critic)
        settings |= {"critic": str(arguments.critic), "decisions": decisions}
    player = None
    if arguments.player is not None:
        player = make_agent(arguments.player, game)
        settings |= {"player": arguments.player, "player's files": fingerprint(arguments.player)}
    _claim(folder, settings)
    count = -(-arguments.positions // _PER_FILE)
    seeds = lane_seeds(arguments.seed, count)
    missing = [number for number in range(count) if not _file(folder, number).exists()]
    progress = bar(count * _PER_FILE, "labelling", unit="position", initial=(count - len(missing)) * _PER_FILE)
    # The kernels release the GIL, so threads keep all cores busy.
    with ThreadPoolExecutor(arguments.threads) as pool:
        jobs = [
            pool.submit(_make_file, game, search, player, folder, number, seeds[number], arguments.playouts, progress)
            for number in missing
        ]
        try:
            for job in jobs:
                job.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    progress.close()
    print(f"{count * _PER_FILE:,} positions are in {folder}")


def _by_policy(game: Game, name: str) -> _Search:
    """The search in Wall whose games go on by a network."""
    if isinstance(game, PilesGame):
        raise ValueError("--policy is for Wall only: the games of Piles' search are played by rules of thumb")
    agent = make_agent(f"policy:{name}", game)
    if not isinstance(agent, NetworkAgent):
        raise ValueError(f"--policy needs a network (.npz), not {name!r}")
    return partial(wall_network_mcts.values_by_policy, policy=agent)


def _by_critic(game: Game, folder: Path) -> tuple[_Search, int]:
    """The search in Wall whose games a run's critic values, and how many decisions that critic has learnt from."""
    import torch  # only here is it needed

    from experiments.train import Training

    training = Training.resume(folder)
    if isinstance(game, PilesGame) or (training.game.name, training.game.num_players) != (game.name, game.num_players):
        raise ValueError(f"--critic needs a run in Wall for {game.num_players} players, not in {training.game!r}")
    if not training.decisions:
        raise ValueError(f"the critic of {str(folder)!r} has learnt nothing yet: there is no checkpoint")
    torch.set_num_threads(1)  # of each thread that makes a file
    return partial(wall_network_mcts.values_by_critic, critic=training.values), training.decisions


def _claim(folder: Path, settings: dict[str, Any]) -> None:
    """Write down what a folder's labels are, or check that it holds the same."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "labels.json"
    if not path.exists():
        write_atomically(path, lambda file: file.write_text(json.dumps(settings, indent=2) + "\n"))
    found = json.loads(path.read_text())
    for name in settings | found:
        if found.get(name) != settings.get(name):
            raise ValueError(
                f"{folder} holds labels with {name} {found.get(name)}, not {settings.get(name)}; take another folder"
            )


def _file(folder: Path, number: int) -> Path:
    return folder / f"{number:05}.npz"


def _make_file(
    game: Game,
    search: _Search,
    player: Agent | None,
    folder: Path,
    number: int,
    seed: np.uint64,
    playouts: int,
    progress: Any,
) -> None:
    """Play games and write the views of `_PER_FILE` decisions and the values of their actions."""
    states = game.new_states(draw_each(np.full(_LANES, seed), LABEL, np.arange(_LANES)))
    dealt = _LANES
    views = game.empty_views(_PER_FILE)
    values = np.empty((_PER_FILE, game.num_actions), np.float16)
    for first in range(0, _PER_FILE, _LANES):
        part = slice(first, first + _LANES)
        game.view(states, game.current_player(states), out=views[part])
        seeds = draw_each(np.full(_LANES, seed), LABEL, _PER_FILE + first + np.arange(_LANES))
        found = search(game, views[part], playouts, seeds)
        values[part] = found
        actions = np.nanargmax(found, axis=1) if player is None else player.act(views[part])
        random = np.array([below(each, LABEL, 0, 100) < _RANDOM_MOVES for each in seeds])
        actions[random] = game.policy_actions(views[part][random], seeds[random], "random")
        game.step(states, actions)
        over = np.flatnonzero(game.terminated(states))
        states[over] = game.new_states(draw_each(np.full(len(over), seed), LABEL, dealt + np.arange(len(over))))
        dealt += len(over)
        progress.update(_LANES)
    write_atomically(_file(folder, number), lambda file: np.savez(file, views=views.view(np.uint8), values=values))


@dataclass(frozen=True)
class Labels:
    """A folder of labels.

    Attributes:
        game: their game.
        files: the files, in order.
        playouts: games of the search for each position.
        seed: seed of the games.
    """

    game: Game
    files: list[Path]
    playouts: int
    seed: int


def load(folder: Path) -> Labels:
    """What a folder holds.

    Raises:
        ValueError: if there are no labels in it.
    """
    path = folder / "labels.json"
    files = sorted(folder.glob("*.npz"))
    if not path.exists() or not files:
        raise ValueError(f"there are no labels in {folder}; make some with `python -m experiments label`")
    settings = json.loads(path.read_text())
    return Labels(make_game(settings["game"], **settings["rules"]), files, settings["playouts"], settings["seed"])
