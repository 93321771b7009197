"""Networks that look at each place of the table with the same weights.

A graph network (as in Battaglia et al., 2018, arXiv:1806.01261): what a place is worth depends on its own cards, on
those of the places related to it, and on all that lies elsewhere, in the same way for all places. So it needs far fewer
games to learn from than a network of fully connected layers; and mirroring Piles' Castle mirrors its values.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.network import Floats, Network, Parameters
from agents.places import Places, places_of, related_places
from cardtable.game import Game, Ints
from cardtable.kernel import inner, kernel


@inner
def _multiply(x: Floats, weights: Floats, sums: Floats) -> None:
    """Add x [P, I] times weights [I, J] to sums [P, J]; half of x is 0."""
    for i in range(weights.shape[0]):
        for place in range(x.shape[0]):
            factor = x[place, i]
            if factor != 0:
                for j in range(weights.shape[1]):
                    sums[place, j] += factor * weights[i, j]


@inner
def _gather(related: Ints, active: NDArray[np.bool_], beside: Floats, sums: Floats) -> None:
    """Add to the sums [P, J] of each place what comes from the places related to it, one share for each relation."""
    for place in range(sums.shape[0]):
        for k in range(related.shape[1]):
            other, relation = related[place, k, 0], related[place, k, 1]
            if other >= 0 and active[place] and active[other]:
                first = relation * sums.shape[1]
                for j in range(sums.shape[1]):
                    sums[place, j] += beside[other, first + j]


@inner
def _has_neighbour(related: Ints, active: NDArray[np.bool_], place: int, relation: int) -> bool:
    for k in range(related.shape[1]):
        other = related[place, k, 0]
        if other >= 0 and related[place, k, 1] == relation and active[other]:
            return True
    return False


@inner
def _rectify(sums: Floats) -> None:
    for place in range(sums.shape[0]):
        for j in range(sums.shape[1]):
            sums[place, j] = max(sums[place, j], np.float32(0))


@inner
def _pool(x: Floats, active: NDArray[np.bool_], divisor: float, pooled: Floats) -> None:
    for j in range(x.shape[1]):
        total = np.float32(0)
        for place in range(x.shape[0]):
            if active[place]:
                total += x[place, j]
        pooled[j] = total / np.float32(divisor)


@kernel
def _forward(
    observations: NDArray[np.int8], advised: Floats, general_advice: Floats, sizes: Floats,
    factor: Floats, place_of: Ints, row_of: Ints, ranks: int,
    related: Ints, divisor: float, actions: Ints, ends: Ints, general: Ints,
    rest: Floats, rest_bias: Floats, own: Floats, beside: Floats,
    mix_own: Floats, mix_bias: Floats, mix_beside: Floats, mix_context: Floats,
    at_place: Floats, at_place_bias: Floats, hidden: Floats, hidden_bias: Floats,
    elsewhere: Floats, elsewhere_bias: Floats, scale: float, values: Floats,
) -> None:  # fmt: skip
    """Row by row in a fixed order of additions, so that a value does not depend on the batch that it is computed in."""
    places, width, mixed = len(related), own.shape[1], mix_own.shape[1]
    active = np.empty(places, np.bool_)
    first, first_beside = np.empty((places, width), np.float32), np.empty((places, beside.shape[1]), np.float32)
    second, second_beside = np.empty((places, mixed), np.float32), np.empty((places, mix_beside.shape[1]), np.float32)
    # The pooled first layer, the rest, the pooled second layer, the ends.
    context = np.empty((1, rest.shape[1] + (1 + len(ends)) * mixed), np.float32)
    known = context[:, : rest.shape[1]]
    common, unit = np.empty((1, mixed), np.float32), np.empty((1, hidden.shape[1]), np.float32)
    card, value_at_end = np.empty((places, at_place.shape[1]), np.float32), np.empty(len(ends), np.float32)
    other = np.empty((1, elsewhere.shape[1]), np.float32)
    for row in range(len(observations)):
        active[:] = False
        known[0] = rest_bias
        first[:] = np.float32(0)
        first_beside[:] = np.float32(0)
        for i in range(observations.shape[1]):
            number = observations[row, i]
            if number != 0:  # most are
                x, place, k = number * factor[i], place_of[i], row_of[i]
                if place >= 0:
                    active[place] = True
                    if ranks > 0:
                        x = np.float32(1)
                        k += number - 1
                    for j in range(width):
                        first[place, j] += x * own[k, j]
                    for j in range(beside.shape[1]):
                        first_beside[place, j] += x * beside[k, j]
                elif k >= 0:
                    for j in range(rest.shape[1]):
                        known[0, j] += x * rest[k, j]
        for k in range(general_advice.shape[1]):
            x = general_advice[row, k]
            for j in range(rest.shape[1]):
                known[0, j] += x * rest[rest.shape[0] - general_advice.shape[1] + k, j]
        for place in range(places):
            if active[place]:
                for k in range(sizes.shape[2]):
                    x = sizes[row, place, k]
                    if x != 0:
                        weights = own.shape[0] - sizes.shape[2] + k
                        for j in range(width):
                            first[place, j] += x * own[weights, j]
                        for j in range(beside.shape[1]):
                            first_beside[place, j] += x * beside[weights, j]
                for j in range(width):
                    first[place, j] += known[0, j]
        _gather(related, active, first_beside, first)
        _rectify(first)
        _pool(first, active, divisor, known[0])
        _rectify(known)
        common[0] = mix_bias
        _multiply(known, mix_context, common)
        second[:] = np.float32(0)
        second_beside[:] = np.float32(0)
        for place in range(places):
            if active[place]:
                second[place] = common[0]
        _multiply(first, mix_own, second)
        _multiply(first, mix_beside, second_beside)
        _gather(related, active, second_beside, second)
        _rectify(second)
        _pool(second, active, divisor, context[0, rest.shape[1] : rest.shape[1] + mixed])
        card[:] = at_place_bias
        _multiply(second, at_place, card)
        for k in range(len(ends)):
            at_end = context[0, rest.shape[1] + (1 + k) * mixed :][:mixed]
            at_end[:] = np.float32(0)
            value_at_end[k] = at_place_bias[actions.shape[1] + k]
            for place in range(places):
                if active[place] and not _has_neighbour(related, active, place, ends[k, 1]):
                    at_end[:] = second[place]
                    value_at_end[k] = card[place, actions.shape[1] + k]
        unit[0] = hidden_bias
        _multiply(context, hidden, unit)
        _rectify(unit)
        other[0] = elsewhere_bias
        _multiply(unit, elsewhere, other)
        for place in range(places):
            for j in range(actions.shape[1]):
                if actions[place, j] >= 0:
                    values[row, actions[place, j]] = scale * card[place, j]
        for k in range(len(ends)):
            values[row, ends[k, 0]] = scale * value_at_end[k]
        for j in range(len(general)):
            values[row, general[j]] = scale * other[0, j]
        for j in range(advised.shape[1]):
            values[row, j] += scale * advised[row, j]


class PlaceNetwork(Network):
    """`PlaceBody` and `PlaceHead` of `agents.torch_networks` without torch."""

    architecture = "places"

    def __init__(self, game: Game, parameters: Parameters, training: Mapping[str, Any]) -> None:
        super().__init__(game, parameters, training)
        places = places_of(game)
        found = self.parameters
        general, sizes = places.advice
        takes = places.cells.shape[1] * max(1, places.ranks) + sizes, len(places.others) + general
        given = found["body.own.weight"].shape[1], found["body.rest.weight"].shape[1]
        if given != takes:
            raise ValueError(
                f"it takes {given[0]} numbers about a place and {given[1]} others, not {takes[0]} and {takes[1]}"
            )
        place_of, row_of = _destinations(places, game.layout.size)
        self._advise = places.advise
        self._arguments = (
            found["body.factor"], place_of, row_of, places.ranks,
            related_places(places.adjacent), float(places.pool), places.actions, places.ends, places.general,
            self._transposed("body.rest"), found["body.rest.bias"],
            self._transposed("body.own"), self._transposed("body.beside"),
            self._transposed("body.mix_own"), found["body.mix_own.bias"],
            self._transposed("body.mix_beside"), self._transposed("body.mix_context"),
            self._transposed("head.at_place"), found["head.at_place.bias"],
            self._transposed("head.hidden"), found["head.hidden.bias"],
            self._transposed("head.elsewhere"), found["head.elsewhere.bias"], found["head.scale"].item(),
        )  # fmt: skip

    def _forward(self, observations: NDArray[np.int8], values: Floats) -> None:
        advised, general, sizes = self._advise(observations)
        _forward(observations, advised, general, sizes, *self._arguments, values)


def _destinations(places: Places, size: int) -> tuple[Ints, Ints]:
    """For each number of an observation its place (-1: none) and its row among the weights (-1: it is not used)."""
    place_of, row_of = np.full(size, -1), np.full(size, -1)
    for place, cells in enumerate(places.cells):
        there = np.flatnonzero(cells >= 0)
        place_of[cells[there]] = place
        row_of[cells[there]] = there * max(1, places.ranks)
    row_of[places.others] = np.arange(len(places.others))
    return place_of, row_of
