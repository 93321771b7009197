"""Processes that play the batches of a tournament, by loky."""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import islice
from pathlib import Path

from loky import ProcessPoolExecutor

from experiments.arena import Batch, Contest, Played, lost_with_process, play

_AHEAD = 2  # batches for each process that are given out before the first of them has been stored
# One thread for each process; see `experiments.arena`.
_ENVIRONMENT = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def play_all(
    contest: Contest, batches: Iterator[Batch], workers: int, marker: Path
) -> Generator[list[Played], None, None]:
    """Play batches in so many processes; yield the games of each batch, in order.

    If a process dies, the batches that were out are played again game by game, each in a process that may die.

    Args:
        contest: what the games share.
        batches: the batches.
        workers: number of processes.
        marker: a file for `play`.
    """
    pool = _pool(workers)
    out: deque[tuple[Batch, Future[list[Played]]]] = deque()
    try:
        out.extend((batch, _submit(pool, contest, batch)) for batch in islice(batches, _AHEAD * workers))
        while out:
            batch, future = out.popleft()
            try:
                played = future.result()
            except BrokenProcessPool:
                pool.shutdown(kill_workers=True)
                played = play_apart(contest, batch, marker)
                pool = _pool(workers)
                for place, (following, old) in enumerate(out):
                    if old.cancelled() or isinstance(old.exception(), BrokenProcessPool):
                        out[place] = (following, _submit(pool, contest, following))
            yield played
            out.extend((batch, _submit(pool, contest, batch)) for batch in islice(batches, 1))
    finally:
        pool.shutdown(kill_workers=True)


def _submit(pool: ProcessPoolExecutor, contest: Contest, batch: Batch) -> "Future[list[Played]]":
    try:
        future: Future[list[Played]] = pool.submit(play, contest, batch)
    except BrokenProcessPool as error:  # it died just now; whoever asks for the result learns of it
        future = Future()
        future.set_exception(error)
    return future


def play_apart(contest: Contest, batch: Batch, marker: Path) -> list[Played]:
    """Play a batch game by game in a process of its own, on this machine; whoever brings it down loses that game.

    Args:
        contest: what the games share.
        batch: the games.
        marker: a file for `play`.

    Raises:
        OSError: if a process ends before it could play.
    """
    found: list[Played] = []
    pool = _pool(1)
    try:
        for single in batch.single():
            marker.unlink(missing_ok=True)
            try:
                found += pool.submit(play, contest, single, marker).result()
            except BrokenProcessPool as error:
                pool.shutdown(kill_workers=True)
                if not marker.exists():
                    raise OSError(f"a process ended before it could play: {error}") from error
                found.append(lost_with_process(contest, single, int(marker.read_text(encoding="utf-8"))))
                pool = _pool(1)
    finally:
        pool.shutdown(kill_workers=True)
        marker.unlink(missing_ok=True)
    return found


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(
        workers, initializer=_start_process, initargs=(os.getpid(), list(sys.path)), env=_ENVIRONMENT
    )


def _start_process(parent: int, path: list[str]) -> None:
    """Find modules as the parent does, and end with it, should it be killed."""
    sys.path[:] = path
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    with suppress(KeyboardInterrupt):
        while os.getppid() == parent:
            time.sleep(0.5)
    os._exit(1)
