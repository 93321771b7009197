"""The networks as torch modules, to train them; `agents.network_agent` plays by them without torch.

Each has a body, from an observation to features, and a head, from those to a value for each action.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agents.dense_network import DenseNetwork
from agents.grid_network import ADJACENT, GridNetwork, inputs
from agents.network import Network
from cardtable.game import Game
from piles_env import PilesGame
from piles_env.engine import NUM_KINDS
from piles_env.state import NUM_PILES


class _Body(nn.Module):
    """Divides each number of an observation by the largest size that its space allows.

    Attributes:
        features: how many numbers it returns for each observation.
    """

    features: int

    def __init__(self, game: Game) -> None:
        super().__init__()
        low, high = game.layout.low.astype(np.float32), game.layout.high.astype(np.float32)
        self.factor: Tensor
        self.register_buffer("factor", torch.as_tensor(1 / np.maximum(np.maximum(np.abs(low), np.abs(high)), 1)))


class _Head(nn.Module):
    """Multiplies what it computes by `scale`: a network learns best if its own numbers are near 1."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale: Tensor
        self.register_buffer("scale", torch.tensor(scale))


class Module(nn.Module):
    """A body and a head."""

    def __init__(self, body: _Body, head: _Head) -> None:
        super().__init__()
        self.body, self.head = body, head

    def forward(self, observations: Tensor) -> Tensor:
        """Values float32 [B, A] of observations [B, D]."""
        values: Tensor = self.head(self.body(observations))
        return values


class DenseBody(_Body):
    """Fully connected layers with rectified linear units."""

    def __init__(self, game: Game, widths: Sequence[int]) -> None:
        super().__init__(game)
        self.layers = nn.ModuleList([nn.Linear(*sizes) for sizes in pairwise([game.layout.size, *widths])])
        self.features = widths[-1]

    def forward(self, observations: Tensor) -> Tensor:
        x = observations * self.factor
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


class DenseHead(_Head):
    """One more layer."""

    def __init__(self, game: Game, width: int, scale: float) -> None:
        super().__init__(scale)
        self.last = nn.Linear(width, game.num_actions)

    def forward(self, features: Tensor) -> Tensor:
        values: Tensor = self.scale * self.last(features)
        return values


class GridBody(_Body):
    """The same weights for each pile of Piles' Castle, its neighbours and all that lies elsewhere.

    Its features are those of each pile and, last, the context: the piles' mean and what else there is to know.
    """

    adjacent: Tensor
    piles: Tensor
    others: Tensor

    def __init__(self, game: Game, width: int, mixed: int, context: int) -> None:
        super().__init__(game)
        piles, others = inputs(game.layout)
        for name, array in (("adjacent", ADJACENT), ("piles", piles), ("others", others)):
            self.register_buffer(name, torch.as_tensor(array), persistent=False)
        self._width = width
        self.rest = nn.Linear(len(others), width + context)
        self.own = nn.Linear(piles.shape[1], width, bias=False)
        self.beside = nn.Linear(piles.shape[1], width, bias=False)
        self.mix_own = nn.Linear(width, mixed)
        self.mix_beside = nn.Linear(width, mixed, bias=False)
        self.mix_context = nn.Linear(width + context, mixed, bias=False)
        self.features = NUM_PILES * mixed + width + context

    def forward(self, observations: Tensor) -> Tensor:
        x = observations * self.factor
        piles, rest = x[:, self.piles], self.rest(x[:, self.others])
        first = torch.relu(self.own(piles) + self.beside(self.adjacent @ piles) + rest[:, None, : self._width])
        context = torch.cat([first.mean(dim=1), torch.relu(rest[:, self._width :])], dim=1)
        second = torch.relu(
            self.mix_own(first) + self.mix_beside(self.adjacent @ first) + self.mix_context(context)[:, None]
        )
        return torch.cat([second.flatten(1), context], dim=1)


class GridHead(_Head):
    """The value of a card on a pile from the pile's features, that of passing from the context."""

    def __init__(self, mixed: int, context: int, scale: float) -> None:
        super().__init__(scale)
        self._piles = NUM_PILES * mixed
        self.card = nn.Linear(mixed, NUM_KINDS)
        self.hidden = nn.Linear(context, 64)
        self.passing = nn.Linear(64, 1)

    def forward(self, features: Tensor) -> Tensor:
        piles, context = features[:, : self._piles], features[:, self._piles :]
        cards = self.card(piles.reshape(len(piles), NUM_PILES, -1)).flatten(1)
        return self.scale * torch.cat([cards, self.passing(torch.relu(self.hidden(context)))], dim=1)


def new_module(game: Game, widths: Sequence[int], scale: float = 1.0) -> Module:
    """A fresh network for a game.

    Args:
        game: Piles gets a grid network, Wall a dense one.
        widths: of a grid network, numbers of features of a pile in the first and in the second layer and of the
            context; of a dense one, its hidden layers.
        scale: what its values are multiplied by.

    Raises:
        ValueError: if there are not three widths for a grid network or none for a dense one, or one is less than 1.
    """
    if not widths or min(widths) < 1:
        raise ValueError(f"widths must be at least 1, not {list(widths)}")
    if not isinstance(game, PilesGame):
        return Module(DenseBody(game, widths), DenseHead(game, widths[-1], scale))
    if len(widths) != 3:
        raise ValueError(
            f"Piles' network has three widths (pile, pile in the second layer, context), not {list(widths)}"
        )
    width, mixed, context = widths
    return Module(GridBody(game, width, mixed, context), GridHead(mixed, width + context, scale))


def to_network(game: Game, module: Module, training: Mapping[str, Any]) -> Network:
    """The same network without torch; `training` says how it was trained."""
    parameters = {name: tensor.detach().numpy().copy() for name, tensor in module.state_dict().items()}
    kind = GridNetwork if isinstance(module.body, GridBody) else DenseNetwork
    return kind(game, parameters, training)


def widths_of(network: Network) -> tuple[int, ...]:
    """What `new_module` makes a network of this size from."""
    found = network.parameters
    if isinstance(network, GridNetwork):
        width, mixed = len(found["body.own.weight"]), len(found["body.mix_own.weight"])
        return width, mixed, len(found["body.rest.weight"]) - width
    return tuple(len(array) for name, array in found.items() if name.startswith("body.") and name.endswith(".bias"))


def to_module(game: Game, network: Network) -> Module:
    """The same network as a torch module."""
    module = new_module(game, widths_of(network))
    module.load_state_dict({name: torch.tensor(array) for name, array in network.parameters.items()})
    return module
