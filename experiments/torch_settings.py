"""How torch computes while a network is fitted; afterwards all is as it was before."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def torch_settings(threads: int) -> Iterator[None]:
    """Threads, and products of matrices in bfloat16 where the processor has it, which is up to twice as fast."""
    before = torch.get_num_threads(), torch.get_float32_matmul_precision()
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.set_float32_matmul_precision(before[1])
