"""The decorators that compile the suite's inner loops."""

import hashlib
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.registry import CPUDispatcher

Function = TypeVar("Function", bound=Callable[..., Any])
Record = Any  # one row of a structured array, which compiled code reads and writes by field

# Nobody passes these functions as values, so numba need not compile a wrapper for that.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def kernel(function: Function) -> Function:
    """Compile `function` on first use, keep the result on disk and release the GIL while it runs; Python may call it.

    Numba stores compiled code beside the source file, or in the user's cache folder (`NUMBA_CACHE_DIR`) if that is
    read-only. Where neither can be written the function still works; it is then compiled anew in every process, and one
    warning says so.
    """
    return _compile(function, _OPTIONS)


def inner(function: Function) -> Function:
    """The same for a function that only compiled code calls: numba spares the wrapper for Python (15 % of the time)."""
    compiled: Any = _compile(function, {**_OPTIONS, "no_cpython_wrapper": True})
    compiled.__class__ = _Inner  # numba itself would end the process
    return cast(Function, compiled)


class _Inner(CPUDispatcher):
    """A compiled function that Python cannot call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is for compiled code only; Python can call functions marked @kernel")


def _compile(function: Function, options: dict[str, Any]) -> Function:
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # numba: "no locator available"
        _warn_once()
        return cast(Function, njit(**options)(function))
    # Numba compiles a function again when its own file has changed, but not when a function that it calls has, in
    # another file. So the stamp by which it tells covers all files that may be called.
    own_folder = Path(function.__code__.co_filename).parent
    compiled._cache._cache_file._source_stamp = _stamp(own_folder)
    return cast(Function, compiled)


def tiny(function: Function) -> Function:
    """Compile a one-line function into its callers, rather than on its own for each combination of integer types."""
    return cast(Function, njit(inline="always", **_OPTIONS)(function))


@cache
def _warn_once() -> None:
    warnings.warn(
        "No folder for compiled code can be written, so it is compiled again in each process (some 10 s a game). "
        "Set NUMBA_CACHE_DIR to a writable folder to keep it.",
        RuntimeWarning,
        stacklevel=3,
    )


# The files that every game package has; no other package that may be installed beside this one has them all.
_GAME_FILES = ("rules.py", "state.py", "engine.py", "view.py", "encoding.py", "policies.py")


@cache
def _stamp(folder: Path) -> str:
    """A hash of the source files that a function in `folder` may call: of its package, this one, and the games."""
    here = Path(__file__).parent
    games = {
        engine.parent
        for engine in here.parent.glob("*/engine.py")
        if all((engine.parent / name).is_file() for name in _GAME_FILES)
    }
    digest = hashlib.sha256()
    for source in sorted(path for package in {folder, here, *games} for path in package.glob("*.py")):
        content = source.read_bytes()
        digest.update(f"{source} {len(content)}\n".encode() + content)
    return digest.hexdigest()
