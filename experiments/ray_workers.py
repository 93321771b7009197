"""A Ray cluster that plays the batches of a tournament, by joblib's Ray backend."""

import itertools
import os
import sys
from collections.abc import Generator, Iterator

import joblib
import ray
from ray.util.joblib import register_ray

from experiments.arena import Batch, Contest, Played, play

_AT_ONCE = 4  # batches for each core that are given out together
_LONGEST_REASON = 300
LOCAL = "local"  # an address: a cluster of this machine alone, started for the purpose


def play_all_on_ray(contest: Contest, batches: Iterator[Batch], address: str) -> Generator[list[Played], None, None]:
    """Play batches on all cores of a cluster; yield the games of each batch, in order.

    The code and the files of networks must be on all machines, in the same place. An agent that brings down its process
    ends the tournament here (`experiments.workers` finds out whose fault it was); what was stored is kept.

    Args:
        contest: what the games share.
        batches: the batches.
        address: of the cluster, as `ray.init` takes it.

    Raises:
        OSError: if the cluster cannot be reached, or fails.
    """
    try:
        ray.init(
            address=address,
            runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}},  # find modules as this process does
            include_dashboard=False if address == LOCAL else None,
            log_to_driver=False,
        )
    except ConnectionError as error:
        raise OSError(f"there is no Ray cluster at {address}: {error}") from error
    try:
        register_ray()
        with joblib.parallel_config(backend="ray", n_jobs=-1):
            parallel = joblib.Parallel(batch_size=1)
            size = _AT_ONCE * joblib.effective_n_jobs(-1)
            # Ray's backend returns nothing before all is done (joblib 1.6, Ray 2.60), so it gets a part at a time.
            while part := list(itertools.islice(batches, size)):
                yield from parallel(joblib.delayed(play)(contest, batch) for batch in part)
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        raise OSError(f"the Ray cluster failed: {reason}; the same command goes on from what is stored") from error
    finally:
        ray.shutdown()
