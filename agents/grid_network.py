"""Networks for Piles that look at each pile with the same weights.

A graph network (as in Battaglia et al., 2018, arXiv:1806.01261) on the Castle: what a pile is worth depends on its own
cards, on those of its neighbours, and on all that is not in the Castle, in the same way wherever it lies. So it needs
far fewer games to learn from than a network of fully connected layers, and mirroring the Castle mirrors its values.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.network import Floats, Network, Parameters
from cardtable.game import Game, Ints
from cardtable.kernel import inner, kernel
from cardtable.layout import Layout
from piles_env.engine import NEIGHBOURS, NUM_KINDS
from piles_env.state import NUM_PILES

ADJACENT = np.array([[NEIGHBOURS[p] >> q & 1 for q in range(NUM_PILES)] for p in range(NUM_PILES)], np.float32)


def inputs(layout: Layout) -> tuple[Ints, Ints]:
    """Where the numbers of an observation of Piles go.

    Returns:
        int64 [12, F], the indices of the numbers about each pile, in one order for all piles: its top card, the cards
        beneath it, its total value, and whether the last actions of the other seats were on it; and int64 [G], the
        indices of all others.
    """
    everywhere = np.arange(layout.size)
    index = {piece.name: everywhere[layout.slices[piece.name]].reshape(piece.shape) for piece in layout.pieces}
    on_pile = index["last_action"][:, NUM_KINDS : NUM_KINDS + NUM_PILES]
    piles = np.concatenate([index["top"], index["under"], index["total"][:, None], on_pile.T], axis=1)
    return piles, np.setdiff1d(np.arange(layout.size), piles)


@inner
def _multiply(x: Floats, weights: Floats, sums: Floats) -> None:
    """Add x [P, I] times weights [I, J] to sums [P, J]; half of x is 0."""
    for i in range(weights.shape[0]):
        for pile in range(x.shape[0]):
            factor = x[pile, i]
            if factor != 0:
                for j in range(weights.shape[1]):
                    sums[pile, j] += factor * weights[i, j]


@inner
def _add_neighbours(neighbours: Ints, beside: Floats, sums: Floats) -> None:
    """Add to each pile's sums [P, J] what comes from its neighbours, and rectify them."""
    for pile in range(sums.shape[0]):
        for k in range(neighbours.shape[1]):
            other = neighbours[pile, k]
            if other >= 0:
                for j in range(sums.shape[1]):
                    sums[pile, j] += beside[other, j]
        for j in range(sums.shape[1]):
            sums[pile, j] = max(sums[pile, j], np.float32(0))


@kernel
def _forward(
    observations: NDArray[np.int8], factor: Floats, pile_of: Ints, row_of: Ints, neighbours: Ints,
    rest: Floats, rest_bias: Floats, own: Floats, beside: Floats,
    mix_own: Floats, mix_bias: Floats, mix_beside: Floats, mix_context: Floats,
    card: Floats, card_bias: Floats, hidden: Floats, hidden_bias: Floats, passing: Floats, passing_bias: Floats,
    scale: float, values: Floats,
) -> None:  # fmt: skip
    """Row by row in a fixed order of additions, so that a value does not depend on the batch that it is computed in."""
    piles, kinds = len(neighbours), card.shape[1]
    width, mixed = own.shape[1], mix_own.shape[1]
    context = np.empty((1, rest.shape[1]), np.float32)
    first, first_beside = np.empty((piles, width), np.float32), np.empty((piles, width), np.float32)
    second, second_beside = np.empty((piles, mixed), np.float32), np.empty((piles, mixed), np.float32)
    common, unit = np.empty((1, mixed), np.float32), np.empty((1, hidden.shape[1]), np.float32)
    cards, last = np.empty((piles, kinds), np.float32), np.empty((1, 1), np.float32)
    for row in range(len(observations)):
        context[0] = rest_bias
        first[:] = np.float32(0)
        first_beside[:] = np.float32(0)
        for i in range(observations.shape[1]):
            if observations[row, i] != 0:  # most are
                x, pile, k = observations[row, i] * factor[i], pile_of[i], row_of[i]
                if pile < 0:
                    for j in range(rest.shape[1]):
                        context[0, j] += x * rest[k, j]
                else:
                    for j in range(width):
                        first[pile, j] += x * own[k, j]
                        first_beside[pile, j] += x * beside[k, j]
        for pile in range(piles):
            for j in range(width):
                first[pile, j] += context[0, j]
        _add_neighbours(neighbours, first_beside, first)
        for j in range(width):
            context[0, j] = np.float32(0)
            for pile in range(piles):
                context[0, j] += first[pile, j]
            context[0, j] /= np.float32(piles)
        for j in range(context.shape[1]):
            context[0, j] = max(context[0, j], np.float32(0))
        common[0] = mix_bias
        _multiply(context, mix_context, common)
        second[:] = common
        second_beside[:] = np.float32(0)
        _multiply(first, mix_own, second)
        _multiply(first, mix_beside, second_beside)
        _add_neighbours(neighbours, second_beside, second)
        cards[:] = card_bias
        _multiply(second, card, cards)
        unit[0] = hidden_bias
        _multiply(context, hidden, unit)
        for j in range(unit.shape[1]):
            unit[0, j] = max(unit[0, j], np.float32(0))
        last[0] = passing_bias
        _multiply(unit, passing, last)
        for pile in range(piles):
            for j in range(kinds):
                values[row, pile * kinds + j] = scale * cards[pile, j]
        values[row, piles * kinds] = scale * last[0, 0]


class GridNetwork(Network):
    """`agents.torch_networks.GridModule` without torch."""

    architecture = "grid"

    def __init__(self, game: Game, parameters: Parameters, training: Mapping[str, Any]) -> None:
        super().__init__(game, parameters, training)
        piles, others = inputs(game.layout)
        pile_of, row_of = np.full(game.layout.size, -1), np.empty(game.layout.size, np.int64)
        pile_of[piles], row_of[piles] = np.arange(NUM_PILES)[:, None], np.arange(piles.shape[1])
        row_of[others] = np.arange(len(others))
        neighbours = np.full((NUM_PILES, int(ADJACENT.sum(axis=1).max())), -1)
        for pile in range(NUM_PILES):
            beside = np.flatnonzero(ADJACENT[pile])
            neighbours[pile, : len(beside)] = beside
        found = self.parameters
        self._arguments = (
            found["body.factor"], pile_of, row_of, neighbours,
            self._transposed("body.rest"), found["body.rest.bias"],
            self._transposed("body.own"), self._transposed("body.beside"),
            self._transposed("body.mix_own"), found["body.mix_own.bias"],
            self._transposed("body.mix_beside"), self._transposed("body.mix_context"),
            self._transposed("head.card"), found["head.card.bias"],
            self._transposed("head.hidden"), found["head.hidden.bias"],
            self._transposed("head.passing"), found["head.passing.bias"], found["head.scale"].item(),
        )  # fmt: skip

    def _forward(self, observations: NDArray[np.int8], values: Floats) -> None:
        _forward(observations, *self._arguments, values)
