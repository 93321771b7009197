"""Named pieces of a flat observation: what each number means, between which bounds it lies, and where it stands."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True)
class Piece:
    """One named part of an observation, flattened in C order."""

    name: str
    shape: tuple[int, ...]
    low: int
    high: int
    meaning: str

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


@dataclass(frozen=True)
class Layout:
    """The pieces of an observation, in order."""

    pieces: tuple[Piece, ...]

    @cached_property
    def size(self) -> int:
        """Length D of the flat observation."""
        return sum(piece.size for piece in self.pieces)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each piece stands in the flat observation."""
        slices, start = {}, 0
        for piece in self.pieces:
            slices[piece.name] = slice(start, start + piece.size)
            start += piece.size
        return slices

    @cached_property
    def low(self) -> NDArray[np.int8]:
        """Lower bounds, int8 [D]."""
        return np.concatenate([np.full(piece.size, piece.low, np.int8) for piece in self.pieces])

    @cached_property
    def high(self) -> NDArray[np.int8]:
        """Upper bounds, int8 [D]."""
        return np.concatenate([np.full(piece.size, piece.high, np.int8) for piece in self.pieces])

    def split(self, observation: NDArray[Number]) -> dict[str, NDArray[Number]]:
        """The pieces of observations [..., D] by name, each [..., *shape], as views of the same memory.

        Of `np.arange(D)` they are the indices of each piece's numbers.

        Raises:
            ValueError: if the last axis is not D long.
        """
        if observation.shape[-1] != self.size:
            raise ValueError(f"an observation of this layout has {self.size} numbers, not {observation.shape[-1]}")
        lead = observation.shape[:-1]
        return {
            piece.name: observation[..., self.slices[piece.name]].reshape(lead + piece.shape) for piece in self.pieces
        }

    def table(self) -> str:
        """The layout as a Markdown table."""
        rows = ["| index | piece | shape | range | meaning |", "|---|---|---|---|---|"]
        for piece in self.pieces:
            place = self.slices[piece.name]
            index = f"{place.start}" if piece.size == 1 else f"{place.start}-{place.stop - 1}"
            shape = " x ".join(map(str, piece.shape))
            rows.append(f"| {index} | `{piece.name}` | {shape} | {piece.low}..{piece.high} | {piece.meaning} |")
        return "\n".join(rows)
