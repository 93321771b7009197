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
from agents.places import places_of, related_places
from cardtable.game import Game


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
    """A body and a head.

    Args:
        body, head: the two.
        turn: if given, body and head see Black's positions as Red's.

    Attributes:
        num_features: how many numbers `features` returns for each observation.
    """

    turned_observation: Tensor
    turned_action: Tensor

    def __init__(self, body: _Body, head: _Head, turn: Turn | None = None) -> None:
        super().__init__()
        self.body, self.head = body, head
        self.num_features = body.features + (turn is not None)
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


class PlaceBody(_Body):
    """The same weights for each place of a table, the places related to it and all that lies elsewhere.

    Its features are those of each place in the second layer, zeros for empty places, those of the ends once more, and
    the context: the sum of the places in the first layer and what else there is to know. Empty places, most of them in
    Wall, cost nothing.
    """

    adjacent: Tensor
    cells: Tensor
    others: Tensor
    related: Tensor
    relation: Tensor

    def __init__(self, game: Game, width: int, mixed: int, context: int) -> None:
        super().__init__(game)
        places = places_of(game)
        cells = np.where(places.cells < 0, game.layout.size, places.cells)  # a 0 is appended to each observation
        related = related_places(places.adjacent)
        self.places, self.relations = len(cells), len(places.adjacent)
        self._ranks, self._near, self._pool = places.ranks, places.near, places.pool
        for name, array in (
            ("cells", cells), ("others", places.others), ("adjacent", places.adjacent),
            ("related", related[..., 0]), ("relation", related[..., 1]),
        ):  # fmt: skip
            self.register_buffer(name, torch.as_tensor(array), persistent=False)
        self._width = width
        inputs = cells.shape[1] * max(1, places.ranks)
        self.rest = nn.Linear(len(places.others), width + context)
        self.own = nn.Linear(inputs, width, bias=False)
        self.beside = nn.Linear(inputs, self.relations * width, bias=False)
        self.mix_own = nn.Linear(width, mixed)
        self.mix_beside = nn.Linear(width, places.near * mixed, bias=False)
        self.mix_context = nn.Linear(width + context, mixed, bias=False)
        self._ends = places.ends[:, 1].tolist()
        self.features = (len(cells) + len(self._ends)) * mixed + width + context

    def forward(self, observations: Tensor) -> Tensor:
        scaled = observations * self.factor
        rest = self.rest(scaled[:, self.others])
        numbers = (observations if self._ranks else scaled).float()
        cells = nn.functional.pad(numbers, (0, 1))[:, self.cells].flatten(0, 1)
        occupied = (cells != 0).any(dim=1)
        batch: _All | _Occupied = _All(self) if bool(occupied.all()) else _Occupied(self, occupied)
        cells = batch.select(cells)
        if self._ranks:
            cells = nn.functional.one_hot(cells.long(), self._ranks + 1)[..., 1:].flatten(1).float()
        first = self.own(cells) + batch.gather(self.beside(cells), self.relations)
        first = torch.relu(batch.add(first, rest[:, : self._width]))
        context = torch.cat([batch.sum(first) / self._pool, torch.relu(rest[:, self._width :])], dim=1)
        second = self.mix_own(first) + batch.gather(self.mix_beside(first), self._near)
        second = torch.relu(batch.add(second, self.mix_context(context)))
        spread = batch.spread(second)
        return torch.cat([spread, *self._at_ends(occupied, spread), context], dim=1)

    def _at_ends(self, occupied: Tensor, spread: Tensor) -> list[Tensor]:
        """For each end the features [B, J] of the place that has no neighbour in its relation."""
        there = occupied.reshape(-1, self.places).float()
        features = spread.reshape(len(spread), self.places, -1)
        found = []
        for relation in self._ends:
            alone = there * (there @ self.adjacent[relation].T == 0)
            found.append(torch.einsum("bp,bpj->bj", alone, features))
        return found


class _All:
    """How to reckon with the places [B * P] of a batch if none is empty."""

    def __init__(self, body: PlaceBody) -> None:
        self._places, self._adjacent = body.places, body.adjacent

    def select(self, cells: Tensor) -> Tensor:
        """The places that are not empty [N], in order."""
        return cells

    def add(self, x: Tensor, to_each: Tensor) -> Tensor:
        """To what each place has [N, J] add what its game has [B, J]."""
        return (x.reshape(-1, self._places, x.shape[1]) + to_each[:, None]).flatten(0, 1)

    def sum(self, x: Tensor) -> Tensor:
        """The sums [B, J] over each game's places [N, J]."""
        return x.reshape(-1, self._places, x.shape[1]).sum(dim=1)

    def gather(self, shares: Tensor, relations: int) -> Tensor:
        """For each place the sum of the shares [N, R * J] of the related ones, one share for each relation."""
        parts = shares.reshape(-1, self._places, relations, shares.shape[1] // relations)
        return torch.einsum("rpq,bqrj->bpj", self._adjacent[:relations], parts).flatten(0, 1)

    def spread(self, x: Tensor) -> Tensor:
        """What each place has [N, J] as [B, P * J], zeros for empty places."""
        return x.reshape(-1, self._places * x.shape[1])


class _Occupied:
    """The same if some places are empty."""

    def __init__(self, body: PlaceBody, occupied: Tensor) -> None:
        self._all = len(occupied)
        self._games = self._all // body.places
        self._occupied = occupied.nonzero()[:, 0]
        self._game = self._occupied // body.places
        self._none = len(self._occupied)
        number = torch.full((self._all + 1,), self._none)  # of each place among the occupied ones
        number[self._occupied] = torch.arange(self._none)
        place = self._occupied % body.places
        related = body.related[place]
        self._relation = body.relation[place]
        self._beside = number[torch.where(related < 0, self._all, (self._occupied - place)[:, None] + related)]

    def select(self, cells: Tensor) -> Tensor:
        return cells[self._occupied]

    def add(self, x: Tensor, to_each: Tensor) -> Tensor:
        return x + to_each[self._game]

    def sum(self, x: Tensor) -> Tensor:
        return x.new_zeros(self._games, x.shape[1]).index_add(0, self._game, x)

    def gather(self, shares: Tensor, relations: int) -> Tensor:
        there = (self._beside < self._none) & (self._relation < relations)
        index = torch.where(there, self._beside * relations + self._relation, self._none * relations)
        shares = nn.functional.pad(shares.reshape(self._none * relations, shares.shape[1] // relations), (0, 0, 0, 1))
        return nn.functional.embedding_bag(index, shares, mode="sum")

    def spread(self, x: Tensor) -> Tensor:
        return x.new_zeros(self._all, x.shape[1]).index_copy(0, self._occupied, x).reshape(self._games, -1)


class PlaceHead(_Head):
    """The values of the actions at a place from its features, those of all others from the sums and the context."""

    order: Tensor

    def __init__(self, game: Game, mixed: int, context: int, scale: float) -> None:
        super().__init__(scale)
        places = places_of(game)
        self._places, self._mixed, self._pool = len(places.cells), mixed, places.pool
        self._ends = len(places.ends)
        self.at_place = nn.Linear(mixed, places.actions.shape[1] + self._ends)
        self.hidden = nn.Linear(context + mixed, 64)
        self.elsewhere = nn.Linear(64, len(places.general))
        computed = np.concatenate([places.actions.ravel(), places.ends[:, 0], places.general])
        order = np.argsort(np.where(computed < 0, game.num_actions, computed), kind="stable")[: game.num_actions]
        self.register_buffer("order", torch.as_tensor(order), persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        parts = self._places + self._ends
        mixed = features[:, : parts * self._mixed].reshape(-1, parts, self._mixed)
        places, ends, context = mixed[:, : self._places], mixed[:, self._places :], features[:, parts * self._mixed :]
        hidden = torch.relu(self.hidden(torch.cat([context, places.sum(dim=1) / self._pool], dim=1)))
        actions = self.at_place.out_features - self._ends
        at_ends = (ends * self.at_place.weight[actions:]).sum(dim=2) + self.at_place.bias[actions:]
        at_places = nn.functional.linear(places, self.at_place.weight[:actions], self.at_place.bias[:actions])
        values = torch.cat([at_places.flatten(1), at_ends, self.elsewhere(hidden)], dim=1)
        return self.scale * values[:, self.order]


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
