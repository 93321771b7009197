"""Trained networks without torch: weights and what they were made for, in one file.

Their forward passes are compiled; the same networks as torch modules, to train them, are in `agents.torch_networks`.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agents.colours import colour_turn
from cardtable.game import Game

Floats = NDArray[np.float32]
Parameters = Mapping[str, Floats]  # by the names that torch gives them
FORMAT = "cardtable-network/2"
ONE_COLOUR = "one_colour"  # a parameter that networks have to which all positions are shown as Red's


class Network(ABC):
    """A function from observations to a value for each action.

    Args:
        game: the game that it is for.
        parameters: the weights, float32, as the `state_dict()` of the torch module of the same architecture has them.
        training: how it was trained, as plain data.
    """

    architecture: ClassVar[str]

    def __init__(self, game: Game, parameters: Parameters, training: Mapping[str, Any]) -> None:
        self.parameters = {name: np.asarray(array, np.float32, order="C") for name, array in parameters.items()}
        self.about = {**describe_game(game), "architecture": self.architecture, "training": dict(training)}
        self._num_actions = game.num_actions
        self._turn = colour_turn(game) if ONE_COLOUR in self.parameters else None

    def values(self, observations: NDArray[np.int8]) -> Floats:
        """The value of each action for observations int8 [B, D]: float32 [B, A], also where an action is not legal.

        What they mean depends on the training: points (`imitate`) or logits (`train`). A row's values do not depend on
        the batch that they are computed in.
        """
        values = np.empty((len(observations), self._num_actions), np.float32)
        if self._turn is None:
            self._forward(np.ascontiguousarray(observations), values)
            return values
        black = observations[:, self._turn.black] != 0
        seen = observations.copy()
        seen[black] = seen[black][:, self._turn.observation]
        self._forward(seen, values)
        values[black] = values[black][:, self._turn.action]
        return values

    @abstractmethod
    def _forward(self, observations: NDArray[np.int8], values: Floats) -> None: ...

    def _transposed(self, name: str) -> Floats:
        """A layer's weights as [inputs, outputs], so that an input's weights lie side by side."""
        return np.ascontiguousarray(self.parameters[f"{name}.weight"].T)

    def save(self, path: Path) -> None:
        """Write the network as an .npz file."""
        arrays: dict[str, Any] = {**self.parameters, "about": np.array(json.dumps(self.about))}
        with path.open("wb") as file:
            np.savez(file, **arrays)


def describe_game(game: Game) -> dict[str, Any]:
    """What a network depends on: the game, its rules but for `reward`, and the meaning of each number that it sees."""
    rules = {name: value for name, value in asdict(game.rules).items() if name != "reward"}
    layout = hashlib.sha256(game.layout.table().encode()).hexdigest()[:16]
    return {"format": FORMAT, "game": game.name, "rules": rules, "layout": layout, "actions": game.num_actions}


def check_made_for(game: Game, about: Mapping[str, Any]) -> None:
    """Raise a ValueError if what `describe_game` said when a network was made does not hold for this game."""
    for name, expected in describe_game(game).items():
        if about.get(name) != expected:
            raise ValueError(f"it was made for {name} {about.get(name)}; {game!r} has {expected}")
