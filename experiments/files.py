"""Files that are either whole or not there: written beside their place, flushed to disk, then renamed."""

import os
from collections.abc import Callable
from pathlib import Path


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file by `write(temporary_path)` and put it in its place in one step.

    Raises:
        OSError: if it cannot be written; the message names the file, and what was there before stays.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp{path.suffix}")
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}; what was there before is kept") from error
    finally:
        temporary.unlink(missing_ok=True)


def new_folder(parent: Path, name: str) -> Path:
    """Make the folder `parent/name`, or the first of `name-2`, `name-3`, ... that is not there yet."""
    number = 1
    while True:
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            number += 1
        else:
            return folder
