"""A Ray cluster that plays the batches of a tournament, each as one of Ray's tasks."""

import os
import socket
import sys
from collections import deque
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import ray

from experiments.arena import Batch, Contest, Played, play
from experiments.workers import play_apart

_AHEAD = 2  # batches for each core that are given out before the first of them has been stored
_SECONDS = 5.0  # to answer, for the cluster's head
_LONGEST_REASON = 300
LOCAL = "local"  # an address: a cluster of this machine alone, started for the purpose


def play_all_on_ray(
    contest: Contest, batches: Iterator[Batch], address: str, marker: Path
) -> Generator[list[Played], None, None]:
    """Play batches on all cores of a cluster; yield the games of each batch, in order.

    The code and the files of networks must be on all machines, in the same place. What a machine was playing when it
    failed is played by another one. A batch that fails there, too, is played on this machine, as an agent may have
    brought down its process, and here it can be found out which.

    Args:
        contest: what the games share.
        batches: the batches.
        address: of the cluster, as `ray.init` takes it.
        marker: a file for `play`.

    Raises:
        OSError: if the cluster cannot be reached, or fails.
    """
    _reach(address)
    try:
        ray.init(
            address=address,
            runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}},  # find modules as this process does
            include_dashboard=False if address == LOCAL else None,
            log_to_driver=False,
        )
    except (ConnectionError, RuntimeError) as error:
        raise OSError(f"there is no Ray cluster at {address}: {_line(error)}") from error
    try:
        task = ray.remote(max_retries=1)(play)  # on another machine, if the first fails
        shared = ray.put(contest)
        ahead = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        out: deque[tuple[Batch, Any]] = deque()
        out.extend((batch, task.remote(shared, batch)) for batch in islice(batches, ahead))
        while out:
            batch, result = out.popleft()
            try:
                played = ray.get(result)
            except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError):
                played = play_apart(contest, batch, marker)
            yield played
            out.extend((batch, task.remote(shared, batch)) for batch in islice(batches, 1))
    except ray.exceptions.RayError as error:
        raise OSError(
            f"the Ray cluster failed: {_line(error)}; the same command goes on from what is stored"
        ) from error
    finally:
        ray.shutdown()


def _reach(address: str) -> None:
    """Raise OSError at once if nothing listens at an address with a port: Ray itself tries for many minutes."""
    host, colon, port = address.rpartition("//")[2].rpartition(":")
    if not colon or not port.isdecimal():
        return
    if host in ("localhost", "127.0.0.1"):
        host = ray.util.get_node_ip_address()  # as Ray does
    try:
        socket.create_connection((host, int(port)), timeout=_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise OSError(
            f"there is no Ray cluster at {address}: port {port} of {host} does not answer ({error})"
        ) from error


def _line(error: Exception) -> str:
    """One line of moderate length."""
    return " ".join(str(error).split())[:_LONGEST_REASON]
