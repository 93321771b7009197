"""The networks as torch modules, to train them; `agents.network_agent` plays by them without torch.

Each has a body, from an observation to features, and a head, from those to a value for each action.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agents.colours import Turn, colour_turn
from agents.dense_network import DenseNetwork
from agents.network import ONE_COLOUR, Network
from agents.place_network import PlaceNetwork
from agents.places import places_of
from cardtable.game import Game


class _Body(nn.Module):
    """Divides each number of an observation by the largest size that its space allows.

    Attributes:
        summary: how many of the last features are enough for a critic.
    """

    summary: int

    def __init__(self, game: Game) -> None:
        super().__init__()
        low, high = game.layout.low.astype(np.float32), game.layout.high.astype(np.float32)
        self.factor: Tensor
        self.register_buffer("factor", torch.as_tensor(1 / np.maximum(np.maximum(np.abs(low), np.abs(high)), 1)))


class _Head(nn.Module):
    """Multiplies what it computes by `scale`: a network learns best if its own numbers are near 1.

    Attributes:
        advised: whether it begins as a rule of thumb, to whose values its own are added.
    """

    advised = False

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale: Tensor
        self.register_buffer("scale", torch.tensor(scale))


class Module(nn.Module):
    """A body and a head.

    Args:
        body, head: the two.
        turn: if given, body and head see Black's positions as Red's.

    Attributes:
        num_summary: how many numbers `summary` returns for each observation.
    """

    turned_observation: Tensor
    turned_action: Tensor

    def __init__(self, body: _Body, head: _Head, turn: Turn | None = None) -> None:
        super().__init__()
        self.body, self.head = body, head
        self.num_summary = body.summary + (turn is not None)
        self._turns = turn is not None
        if turn is not None:
            self.register_buffer(ONE_COLOUR, torch.tensor(1.0))  # so that it is known of a file
            self.register_buffer("turned_observation", torch.as_tensor(turn.observation), persistent=False)
            self.register_buffer("turned_action", torch.as_tensor(turn.action), persistent=False)
            self._black = turn.black

    def features(self, observations: Tensor) -> Tensor:
        """What the head makes values of, float32 [B, F]; of observations [B, D]."""
        if not self._turns:
            return torch.as_tensor(self.body(observations))
        black = observations[:, self._black, None] != 0
        seen = torch.where(black, observations[:, self.turned_observation], observations)
        return torch.cat([self.body(seen), black.float()], dim=1)

    def summary(self, features: Tensor) -> Tensor:
        """What a critic needs of the features, float32 [B, S]."""
        return features[:, -self.num_summary :]

    def values(self, features: Tensor) -> Tensor:
        """The head's values float32 [B, A]."""
        if not self._turns:
            return torch.as_tensor(self.head(features))
        values = self.head(features[:, :-1])
        return torch.where(features[:, -1:] != 0, values[:, self.turned_action], values)

    def forward(self, observations: Tensor) -> Tensor:
        """Values float32 [B, A] of observations [B, D]."""
        return self.values(self.features(observations))


class DenseBody(_Body):
    """Fully connected layers with rectified linear units."""

    def __init__(self, game: Game, widths: Sequence[int]) -> None:
        super().__init__(game)
        self.layers = nn.ModuleList([nn.Linear(*sizes) for sizes in pairwise([game.layout.size, *widths])])
        self.summary = widths[-1]

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


class PlaceBody(_Body):
    """The same weights for each place of a table, the places related to it and all that lies elsewhere.

    Its features are the values that a rule of thumb gives, if there is one; those of each place in the second layer, up
    to the last place that is not empty in all the batch; and the summary: those of the ends, the sum of all, and the
    context, which is the sum of the places in the first layer and what else there is to know.
    """

    adjacent: Tensor
    cells: Tensor
    cell_factor: Tensor
    others: Tensor

    def __init__(self, game: Game, width: int, mixed: int, context: int) -> None:
        super().__init__(game)
        places = places_of(game)
        cells = np.where(places.cells < 0, game.layout.size, places.cells)  # a 0 is appended to each observation
        for name, array in ("cells", cells), ("others", places.others), ("adjacent", places.adjacent):
            self.register_buffer(name, torch.as_tensor(array), persistent=False)
        self.register_buffer("cell_factor", nn.functional.pad(self.factor, (0, 1))[self.cells], persistent=False)
        self._ranks, self._pool, self._width = places.ranks, places.pool, width
        self._advise, (general, sizes) = places.advise, places.advice
        inputs = cells.shape[1] * max(1, places.ranks) + sizes
        self.rest = nn.Linear(len(places.others) + general, width + context)
        self.own = nn.Linear(inputs, width, bias=False)
        self.beside = nn.Linear(inputs, len(places.adjacent) * width, bias=False)
        self.mix_own = nn.Linear(width, mixed)
        self.mix_beside = nn.Linear(width, len(places.adjacent) * mixed, bias=False)
        self.mix_context = nn.Linear(width + context, mixed, bias=False)
        self._ends = places.ends[:, 1].tolist()
        self.summary = (len(self._ends) + 1) * mixed + width + context
        if not places.ranks:  # no place is ever empty, so a critic can look at each
            self.summary += len(cells) * mixed

    def forward(self, observations: Tensor) -> Tensor:
        values, general, sizes = map(torch.from_numpy, self._advise(observations.to(torch.int8).numpy()))
        rest = self.rest(torch.cat([observations[:, self.others] * self.factor[self.others], general], dim=1))
        seen = nn.functional.pad(observations, (0, 1))
        count = 1 + max((seen != 0).any(dim=0)[self.cells].any(dim=1).nonzero()[:, 0].tolist(), default=0)
        cells = seen[:, self.cells[:count]]
        there = (cells != 0).any(dim=2, keepdim=True).float()
        if self._ranks:
            cells = nn.functional.one_hot(cells.long(), self._ranks + 1)[..., 1:].flatten(2).float()
        else:
            cells = cells * self.cell_factor[:count]
        cells = torch.cat([cells, sizes[:, :count]], dim=2)
        first = self.own(cells) + self._gather(self.beside(cells)) + rest[:, None, : self._width]
        first = torch.relu(first) * there
        context = torch.cat([first.sum(dim=1) / self._pool, torch.relu(rest[:, self._width :])], dim=1)
        second = self.mix_own(first) + self._gather(self.mix_beside(first)) + self.mix_context(context)[:, None]
        second = torch.relu(second) * there
        ends = [self._at_end(relation, there, second) for relation in self._ends]
        return torch.cat([values, second.flatten(1), *ends, second.sum(dim=1) / self._pool, context], dim=1)

    def _gather(self, shares: Tensor) -> Tensor:
        """For each place the sum of the shares [B, P, R * J] of the related ones, one share for each relation."""
        games, count, size = shares.shape
        relations = len(self.adjacent)
        parts = shares.reshape(games, count, relations, size // relations)
        return torch.einsum("rpq,bqrj->bpj", self.adjacent[:, :count, :count], parts)

    def _at_end(self, relation: int, there: Tensor, features: Tensor) -> Tensor:
        """The features [B, J] of the place that has no neighbour in a relation."""
        count = there.shape[1]
        alone = there * (self.adjacent[relation, :count, :count] @ there == 0)
        return (features * alone).sum(dim=1)


class PlaceHead(_Head):
    """The values of the actions at a place from its features, those of all others from the summary.

    If there is a rule of thumb they are added to its values, and are 0 at first (as in Silver et al., "Residual policy
    learning", 2018, arXiv:1812.06298).
    """

    order: Tensor

    def __init__(self, game: Game, mixed: int, context: int, scale: float) -> None:
        super().__init__(scale)
        places = places_of(game)
        self._places, self._ends, self._mixed, self._context = len(places.cells), len(places.ends), mixed, context
        self.at_place = nn.Linear(mixed, places.actions.shape[1] + self._ends)
        self.hidden = nn.Linear(context + (1 + self._ends) * mixed, places.hidden)
        self.elsewhere = nn.Linear(places.hidden, len(places.general))
        self.advised = places.advised
        self._advice = game.num_actions if places.advised else 0
        if places.advised:
            for layer in (self.at_place, self.elsewhere):
                nn.init.zeros_(layer.weight)
                nn.init.zeros_(layer.bias)
        computed = np.concatenate([places.actions.ravel(), places.ends[:, 0], places.general])
        order = np.argsort(np.where(computed < 0, game.num_actions, computed), kind="stable")[: game.num_actions]
        self.register_buffer("order", torch.as_tensor(order), persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        summary = [self._ends * self._mixed, self._mixed, self._context]
        size = features.shape[1] - self._advice - sum(summary)
        advice, at_places, ends, pooled, context = torch.split(features, [self._advice, size, *summary], dim=1)
        hidden = torch.relu(self.hidden(torch.cat([context, pooled, ends], dim=1)))
        rows = [self.at_place.out_features - self._ends, self._ends]
        weight, bias = torch.split(self.at_place.weight, rows), torch.split(self.at_place.bias, rows)
        of_places = at_places.reshape(len(features), -1, self._mixed) @ weight[0].T
        of_places = nn.functional.pad(of_places, (0, 0, 0, self._places - of_places.shape[1])) + bias[0]
        of_ends = (ends.reshape(len(features), self._ends, self._mixed) * weight[1]).sum(dim=2) + bias[1]
        values = torch.cat([of_places.flatten(1), of_ends, self.elsewhere(hidden)], dim=1)[:, self.order]
        return self.scale * (values + advice if self.advised else values)


def new_module(game: Game, widths: Sequence[int], scale: float = 1.0, one_colour: bool = False) -> Module:
    """A fresh network for a game.

    Args:
        game: the game.
        widths: three numbers for a network that looks at each place with the same weights: the features of a place in
            the first and in the second layer, and of all that lies elsewhere. Any other number of them: the hidden
            layers of a fully connected network.
        scale: what its values are multiplied by.
        one_colour: whether it sees Black's positions in Piles as Red's.

    Raises:
        ValueError: if there are no widths, or one is less than 1.
    """
    if not widths or min(widths) < 1:
        raise ValueError(f"widths must be at least one number, each at least 1, not {list(widths)}")
    turn = colour_turn(game) if one_colour else None
    if len(widths) != 3:
        return Module(DenseBody(game, widths), DenseHead(game, widths[-1], scale), turn)
    width, mixed, context = widths
    return Module(PlaceBody(game, width, mixed, context), PlaceHead(game, mixed, width + context, scale), turn)


def to_network(game: Game, module: Module, training: Mapping[str, Any]) -> Network:
    """The same network without torch; `training` says how it was trained."""
    parameters = {name: tensor.detach().numpy().copy() for name, tensor in module.state_dict().items()}
    kind = PlaceNetwork if isinstance(module.body, PlaceBody) else DenseNetwork
    return kind(game, parameters, training)


def widths_of(network: Network) -> tuple[int, ...]:
    """What `new_module` makes a network of this size from."""
    found = network.parameters
    if isinstance(network, PlaceNetwork):
        width, mixed = len(found["body.own.weight"]), len(found["body.mix_own.weight"])
        return width, mixed, len(found["body.rest.weight"]) - width
    return tuple(len(array) for name, array in found.items() if name.startswith("body.") and name.endswith(".bias"))


def to_module(game: Game, network: Network) -> Module:
    """The same network as a torch module."""
    module = new_module(game, widths_of(network), one_colour=ONE_COLOUR in network.parameters)
    module.load_state_dict({name: torch.tensor(array) for name, array in network.parameters.items()})
    return module
