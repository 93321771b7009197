"""Trained networks without torch: weights in a file, the forward pass in compiled code.

A network here takes an observation, each number divided by the largest size that its space allows, through layers with
rectified linear units to one value for each action.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.agent import GameAgent
from cardtable.game import Game, Ints, Views
from cardtable.kernel import kernel

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]  # weights [inputs, outputs] and biases [outputs]
FORMAT = "cardtable-network/1"
SHIPPED = Path(__file__).parent / "policies"


@kernel
def _forward(
    observations: NDArray[np.int8], weights: NDArray[np.float32], sizes: Ints, values: NDArray[np.float32]
) -> None:
    """Row by row in a fixed order of additions, so that a value does not depend on the batch that it is computed in."""
    widest = sizes.max()
    inputs, outputs = np.empty(widest, np.float32), np.empty(widest, np.float32)
    last = len(sizes) - 2
    for row in range(len(observations)):
        for i in range(sizes[0]):
            inputs[i] = observations[row, i]
        at = 0
        for layer in range(last + 1):
            wide, high = sizes[layer + 1], sizes[layer]
            bias = at + high * wide
            for j in range(wide):
                outputs[j] = weights[bias + j]
            for i in range(high):
                x = inputs[i]
                if x != 0:  # most inputs are
                    for j in range(wide):
                        outputs[j] += x * weights[at + i * wide + j]
            for j in range(wide):
                inputs[j] = outputs[j] if layer == last else max(outputs[j], np.float32(0))
            at = bias + wide
        for j in range(sizes[last + 1]):
            values[row, j] = inputs[j]


class Network:
    """A network and what it was made for.

    Args:
        layers: weights float32 [inputs, outputs] and biases float32 [outputs] of each layer. The first takes an
            observation as it is: what it is divided by is in the weights.
        about: what it was trained for and how, as plain data: `describe_game` and whatever else.
    """

    def __init__(self, layers: list[Layer], about: dict[str, Any]) -> None:
        self.layers = layers
        self.about = about
        self._sizes = np.array([layers[0][0].shape[0], *(bias.shape[0] for _, bias in layers)], np.int64)
        self._flat = np.concatenate([part.ravel() for layer in layers for part in layer]).astype(np.float32)

    def values(self, observations: NDArray[np.int8]) -> NDArray[np.float32]:
        """The value of each action for observations int8 [B, D]: float32 [B, A], also where an action is not legal."""
        values = np.empty((len(observations), int(self._sizes[-1])), np.float32)
        _forward(observations, self._flat, self._sizes, values)
        return values

    def save(self, path: Path) -> None:
        """Write the network as an .npz file."""
        parts = {
            f"{name}{k}": part for k, layer in enumerate(self.layers) for name, part in zip("wb", layer, strict=True)
        }
        with path.open("wb") as file:
            np.savez(file, about=np.array(json.dumps(self.about)), **parts)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> "Network":
        """Read a network that `save` wrote.

        Raises:
            ValueError: if the file is not there or is no network of this format.
        """
        if not path.is_file():
            raise ValueError(f"there is no file {str(path)!r}; train a network with `python -m experiments imitate`")
        try:
            with np.load(path, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                count = sum(name.startswith("w") for name in file.files)
                layers = [(file[f"w{k}"], file[f"b{k}"]) for k in range(count)]
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(f"{str(path)!r} is no network: {error}") from error
        if about.get("format") != FORMAT:
            raise ValueError(f"{str(path)!r} has format {about.get('format')!r}, not {FORMAT!r}")
        return cls(layers, about)


def describe_game(game: Game) -> dict[str, Any]:
    """What a network depends on: the game, its rules but for `reward`, and the meaning of each number that it sees."""
    rules = {name: value for name, value in asdict(game.rules).items() if name != "reward"}
    layout = hashlib.sha256(game.layout.table().encode()).hexdigest()[:16]
    return {"format": FORMAT, "game": game.name, "rules": rules, "layout": layout, "actions": game.num_actions}


class NetworkAgent(GameAgent):
    """Takes the legal action that a network values most.

    Args:
        game: the game that will be played.
        network: the network.

    Raises:
        ValueError: if the network was made for another game, other rules or another encoding.
    """

    def __init__(self, game: Game, network: Network) -> None:
        super().__init__(game)
        for name, expected in describe_game(game).items():
            if network.about.get(name) != expected:
                raise ValueError(f"the network was made for {name} {network.about.get(name)}; {game!r} has {expected}")
        self._network = network

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        observations, masks = self.game.observe(views)
        values = np.where(masks, self._network.values(observations), -np.inf)
        return np.asarray(np.argmax(values, axis=1), np.int64)
