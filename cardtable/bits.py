"""Sets of small non-negative integers (cards, kinds, piles) as the bits of one int64."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from cardtable.kernel import inner, kernel, tiny


def _popcount(typing_context: Any, bits: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


def _lowest(typing_context: Any, bits: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


def _store_word(typing_context: Any, array: Any, index: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.gep(data, [arguments[1]])
        builder.store(arguments[2], builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), generate


def _load_word(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.gep(data, [arguments[1]])
        return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1, typ=ir.IntType(64))

    return types.int64(array, types.int64), generate


def _prefetch(typing_context: Any, rows: Any, index: Any, offset: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, flag = ir.IntType(8), ir.IntType(32)
        start = builder.bitcast(data, byte.as_pointer())
        size = ir.Constant(ir.IntType(64), signature.args[0].dtype.size)
        place = builder.gep(start, [builder.add(builder.mul(arguments[1], size), arguments[2])])
        kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")  # type: ignore[no-untyped-call]
        builder.call(function, [place, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(rows, types.int64, types.int64), generate


popcount: Callable[[int], int] = cast(
    Any, intrinsic(_popcount)
)  # number of members of a set; only within compiled code
lowest: Callable[[int], int] = cast(Any, intrinsic(_lowest))  # smallest member of a set that is not empty; likewise

# store_word(array, index, word): write the eight bytes of a uint64 into a contiguous int8 array, lowest byte first.
store_word: Callable[[NDArray[np.int8], int, np.uint64], None] = cast(Any, intrinsic(_store_word))
# load_word(array, index): eight bytes of a contiguous int8 array as an int64, lowest byte first.
load_word: Callable[[NDArray[np.int8], int], int] = cast(Any, intrinsic(_load_word))
# prefetch(rows, index, offset): begin to load what stands at a byte offset of a row of a structured array.
prefetch: Callable[[NDArray[np.void], int, int], None] = cast(Any, intrinsic(_prefetch))

_EVERY_BYTE = np.uint64(0x0101010101010101)
_BIT_K_OF_BYTE_K = np.uint64(0x8040201008040201)
_ALL_BUT_TOP_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)


@kernel
def spread(byte: int) -> np.uint64:
    """The eight bits of a byte as eight bytes of 0 or 1, so that `store_word` writes eight flags at once."""
    chosen = (np.uint64(byte) * _EVERY_BYTE) & _BIT_K_OF_BYTE_K
    return ((chosen + _ALL_BUT_TOP_BITS) >> np.uint64(7)) & _EVERY_BYTE


@inner
def widen(value: int) -> int:
    """A field's small integer as an int64, for which alone callees are compiled."""
    return np.int64(value)  # type: ignore[return-value]  # in compiled code an int


@tiny
def singleton(member: int) -> int:
    """The set that holds `member` (0..62) alone."""
    return 1 << member


@inner
def nth(bits: int, n: int) -> int:
    """The n-th smallest member of a set, counted from 0; the set must have more than n members."""
    for _ in range(n):
        bits &= bits - 1
    return lowest(bits)
