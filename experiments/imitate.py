"""`python -m experiments imitate`: fit a network to labelled positions, so that it plays like the search without it.

The network learns the value of every legal action (squared error); it then plays the action that it values most.
Positions are turned into their images by the game's symmetries at random. A network that is fitted further may keep a
share of what it was: the mean of both networks' weights often plays better than either (as in Wortsman et al., "Robust
fine-tuning of zero-shot models", CVPR 2022).
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from agents.network import Network
from agents.network_agent import NetworkAgent, load_network
from agents.places import places_of
from agents.torch_networks import new_module, to_module, to_network, widths_of
from cardtable.game import Game
from experiments import label
from experiments.evaluate import write_result
from experiments.files import new_folder, write_atomically
from experiments.progress import bar
from experiments.torch_settings import torch_settings
from experiments.train import METHOD as TRAINED
from piles_env import PilesGame
from wall_env import WallGame
from wall_env.actions import mirrors

_BATCH = 512
_MEAN_WEIGHT = 0.03  # of a position's mean value in the loss
_NEAR = 4.0  # units below the best action, from where on values do not matter
_HELD_OUT = 20  # every so many-th file is kept for testing
# Adam's highest learning rate, of a fresh network and of one that was trained before: it rises for a tenth of the time
# and then falls along half a cosine.
_RATE, _FURTHER_RATE = 2e-3, 3e-4
METHOD = "imitate"  # in the networks that come from here: their values are points


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("labels", type=Path, help="a folder that `label` has filled")
    parser.add_argument("--epochs", type=int, default=20, help="times that each position is seen (default 20)")
    parser.add_argument(
        "--widths", type=int, nargs="+", default=[128, 128, 256], help="the network's (default 128 128 256)"
    )
    parser.add_argument(
        "--from", dest="start", type=Path, help="a network (.npz) to begin with; its sizes take the place of --widths"
    )
    parser.add_argument(
        "--keep", type=float, default=0.0, help="the share of that network's weights in the result (default 0)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and batches (default 0)")
    parser.add_argument("--threads", type=int, default=2, help="processor cores to use (default 2)")
    parser.add_argument("--deals", type=int, default=500, help="deals on which the result is measured (default 500)")
    parser.add_argument("--out", type=Path, default=Path("runs"), help="parent of the run's folder (default runs)")


def run(arguments: argparse.Namespace) -> None:
    if arguments.epochs < 1:
        raise ValueError(f"--epochs must be at least 1, not {arguments.epochs}")
    if not 0 <= arguments.keep < 1 or (arguments.keep and arguments.start is None):
        raise ValueError(f"--keep must be at least 0 and less than 1, and needs --from, not {arguments.keep}")
    labels = label.load(arguments.labels)
    game = labels.game
    start = None if arguments.start is None else _start(game, arguments.start)
    folder = new_folder(arguments.out, f"{game.name.partition('-')[0]}-{game.num_players}p-imitate")
    with torch_settings(arguments.threads):
        network = fit(labels, start, arguments.widths, arguments.epochs, arguments.seed, arguments.keep)
    path = folder / "policy.npz"
    write_atomically(path, network.save)
    print(f"saved as {path} ({path.stat().st_size / 1e6:.2f} MB); {json.dumps(network.about['training'])}")
    print(write_result(game, "network", NetworkAgent(game, network), game.policies, arguments.deals, folder))


def _start(game: Game, path: Path) -> Network:
    """The network to begin with, its values in points: those of `train` are points divided by a temperature."""
    network = load_network(path, game)
    training = network.about["training"]
    module = to_module(game, network)
    if training["method"] == TRAINED and (training["start"] is not None or module.head.advised):
        module.head.scale *= training["config"]["temperature"]
        return to_network(game, module, training)
    if training["method"] != METHOD:
        raise ValueError(f"{str(path)!r} has values that are no points; begin with a network of `imitate`")
    return network


def fit(
    labels: label.Labels, start: Network | None, widths: list[int], epochs: int, seed: int, keep: float = 0.0
) -> Network:
    """Fit a network, fresh or begun with `start`, to labels, all of which are in memory."""
    game, files = labels.game, labels.files
    torch.manual_seed(seed)
    train = [file for k, file in enumerate(files) if k % _HELD_OUT] or files
    unit = places_of(game).unit
    module = new_module(game, widths, unit) if start is None else to_module(game, start)
    batches = _Batches(game, train, seed)
    steps = epochs * (batches.positions // _BATCH)
    optimiser = torch.optim.Adam(module.parameters(), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, _RATE if start is None else _FURTHER_RATE, steps, pct_start=0.1
    )
    progress = bar(steps, "fitting", unit="batch")
    began, losses = time.monotonic(), []
    for observations, values in batches.draw(steps):
        loss = _loss(module(torch.as_tensor(observations)), values, unit)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        losses.append(float(loss.detach()))
        progress.update()
        if len(losses) % 50 == 0:
            progress.set_postfix_str(f"loss {np.mean(losses[-50:]):.4f}")
    progress.close()
    with torch.no_grad():
        if start is not None:
            for fitted, before in zip(module.parameters(), to_module(game, start).parameters(), strict=True):
                fitted.lerp_(before, keep)
        held_out = _Batches(game, files[::_HELD_OUT], seed)
        error = np.mean(
            [float(_loss(module(torch.as_tensor(seen)), values, unit)) for seen, values in held_out.in_order()]
        )
    training = {
        "method": METHOD, "positions": batches.positions, "playouts": labels.playouts,
        "seeds": [labels.seed, seed], "epochs": epochs, "widths": widths if start is None else widths_of(start),
        "loss": round(float(np.mean(losses[-200:])), 5), "held-out loss": round(float(error), 5),
        "seconds": round(time.monotonic() - began), "kept": keep,
        "start": None if start is None else start.about["training"],
    }  # fmt: skip
    return to_network(game, module, training)


def _loss(predicted: torch.Tensor, values: NDArray[np.float32], unit: float) -> torch.Tensor:
    """Mean squared error over legal actions; the values of others are NaN.

    All actions of a position were tried in the same games, so their differences are known much better than their mean:
    its error counts little. Of an action that is much worse than the best it matters only that it looks so.
    """
    target = torch.as_tensor(values)
    legal = ~torch.isnan(target)
    target = torch.where(legal, target, -torch.inf)
    least = target.max(dim=1, keepdim=True).values - _NEAR * unit
    near = target > least
    error = (predicted - torch.maximum(target, least)) / unit
    mean = torch.where(near, error, 0.0).sum(dim=1, keepdim=True) / near.sum(dim=1, keepdim=True)
    apart = torch.where(near, error - mean, torch.relu(error - mean))
    squares = torch.where(legal, apart, 0.0).square().sum(dim=1) / legal.sum(dim=1)
    return squares.mean() + _MEAN_WEIGHT * mean.square().mean()


class _Batches:
    """The positions of some files, all in memory: observations int8 and values float16."""

    def __init__(self, game: Game, files: list[Path], seed: int) -> None:
        self._game = game
        self._random = np.random.default_rng(seed)
        parts = [self._read(game, file) for file in files]
        self._observations = np.concatenate([observations for observations, _ in parts])
        self._values = np.concatenate([values for _, values in parts])
        self.positions = len(self._values)

    @staticmethod
    def _read(game: Game, path: Path) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
        with np.load(path) as file:
            views = file["views"].view(game.view_dtype)
            return game.observe(views)[0], file["values"]

    def draw(self, steps: int) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Batches of all positions in random order, over and over, turned at random."""
        order = np.empty(0, np.int64)
        for _ in range(steps):
            if len(order) < _BATCH:
                order = self._random.permutation(self.positions)
            chosen, order = order[:_BATCH], order[_BATCH:]
            observations, values = _turned(self._game, self._observations[chosen], self._values[chosen], self._random)
            yield observations.astype(np.float32), values.astype(np.float32)

    def in_order(self) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """All positions once, as they are."""
        for first in range(0, self.positions, _BATCH):
            part = slice(first, first + _BATCH)
            yield self._observations[part].astype(np.float32), self._values[part].astype(np.float32)


def _turned(
    game: Game, observations: NDArray[np.int8], values: NDArray[np.float16], random: np.random.Generator
) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Images of positions: Piles' by one of its symmetries, in Wall half of them with the own wall mirrored."""
    if isinstance(game, PilesGame):
        symmetry = game.symmetries[random.integers(len(game.symmetries))]
        return observations[:, symmetry.observation], values[:, symmetry.action]
    assert isinstance(game, WallGame)
    observation, action = mirrors(game.rules)
    rows = np.flatnonzero(random.integers(2, size=len(observations)))
    widths = observations[rows, game.layout.slices["width"].start]
    observations[rows] = np.take_along_axis(observations[rows], observation[widths], axis=1)
    values[rows] = np.take_along_axis(values[rows], action[widths], axis=1)
    return observations, values
