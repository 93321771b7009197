"""Networks of fully connected layers with rectified linear units."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.network import Floats, Network, Parameters
from cardtable.game import Game, Ints
from cardtable.kernel import kernel


@kernel
def _forward(
    observations: NDArray[np.int8], factor: Floats, weights: Floats, sizes: Ints, scale: float, values: Floats
) -> None:
    """Row by row in a fixed order of additions, so that a value does not depend on the batch that it is computed in."""
    widest = sizes.max()
    inputs, outputs = np.empty(widest, np.float32), np.empty(widest, np.float32)
    last = len(sizes) - 2
    for row in range(len(observations)):
        for i in range(sizes[0]):
            inputs[i] = observations[row, i] * factor[i]
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
            values[row, j] = scale * inputs[j]


class DenseNetwork(Network):
    """`DenseBody` and `DenseHead` of `agents.torch_networks` without torch."""

    architecture = "dense"

    def __init__(self, game: Game, parameters: Parameters, training: Mapping[str, Any]) -> None:
        super().__init__(game, parameters, training)
        layers = [name.removesuffix(".bias") for name in self.parameters if name.endswith(".bias")]
        parts = [(self._transposed(layer), self.parameters[f"{layer}.bias"]) for layer in layers]
        self._sizes = np.array([len(parts[0][0]), *(len(bias) for _, bias in parts)], np.int64)
        self._weights = np.concatenate([array.ravel() for part in parts for array in part])

    def _forward(self, observations: NDArray[np.int8], values: Floats) -> None:
        scale = self.parameters["head.scale"].item()
        _forward(observations, self.parameters["body.factor"], self._weights, self._sizes, scale, values)
