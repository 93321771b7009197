"""The one decorator that compiles the suite's inner loops."""

import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

Record = Any  # one row of a structured array, which compiled code reads and writes by field

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: Function) -> Function:
    """Compile `function` on first use, keep the result on disk and release the GIL while it runs.

    Numba stores compiled code beside the source file, or in the user's cache folder (`NUMBA_CACHE_DIR`) if that is
    read-only. Where neither can be written the function still works; it is then compiled anew in every process, and one
    warning says so.
    """
    try:
        compiled = njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # numba: "no locator available"
        warnings.warn(
            "No folder for compiled code can be written, so it is compiled again in each process (some 10 s a game). "
            "Set NUMBA_CACHE_DIR to a writable folder to keep it.",
            RuntimeWarning,
            stacklevel=2,
        )
        compiled = njit(**_OPTIONS)(function)
    return cast(Function, compiled)
