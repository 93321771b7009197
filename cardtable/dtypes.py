"""Structured dtypes for records that compiled code works on."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def record_dtype(fields: Sequence[tuple[Any, ...]]) -> np.dtype[np.void]:
    """An aligned dtype without gaps, its size a multiple of 8 bytes.

    Numpy does not copy the bytes in the gaps of a record, so records with gaps could neither be compared nor hashed as
    bytes. Fields stand in the order of their alignment, and the last, `unused`, fills the record up.
    """
    ordered = sorted(fields, key=lambda field: -np.dtype(field[1]).alignment)
    size = sum(np.dtype([field]).itemsize for field in ordered)
    filler = -size % 8
    return np.dtype([*ordered, ("unused", np.int8, (filler,))] if filler else ordered, align=True)
