"""Sets of small non-negative integers (cards, kinds, piles) as the bits of one int64."""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cardtable.kernel import kernel


def _popcount(typing_context: Any, bits: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


def _lowest(typing_context: Any, bits: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


popcount: Callable[[int], int] = cast(
    Any, intrinsic(_popcount)
)  # number of members of a set; only within compiled code
lowest: Callable[[int], int] = cast(Any, intrinsic(_lowest))  # smallest member of a set that is not empty; likewise


@kernel
def singleton(member: int) -> int:
    """The set that holds `member` (0..62) alone."""
    return 1 << member


@kernel
def nth(bits: int, n: int) -> int:
    """The n-th smallest member of a set, counted from 0; the set must have more than n members."""
    for _ in range(n):
        bits &= bits - 1
    return lowest(bits)
