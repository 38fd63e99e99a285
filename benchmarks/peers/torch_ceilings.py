"""Ceilings of a device, measured with PyTorch's libraries: a large matrix product, and a copy within memory."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch

SIZE = 8192
BYTES = 1 << 30
ROUNDS = 5
CALLS = 4
SMALL_SIZE, SMALL_BYTES = 256, 1 << 20
"""Sizes without a GPU, where the functions are only tried."""


def ceilings(device: str, precision: str) -> dict[str, float]:
    """FLOPs of a product, and bytes read and written by a copy, per second."""
    gpu = device != "cpu"
    size, nbytes = (SIZE, BYTES) if gpu else (SMALL_SIZE, SMALL_BYTES)
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    a, b, c = (torch.randn(size, size, device=device).to(dtype) for _ in range(3))
    source, target = (torch.zeros(nbytes, dtype=torch.uint8, device=device) for _ in range(2))
    return {
        "product": 2 * size**3 / seconds(lambda: torch.mm(a, b, out=c), device),
        "copy": 2 * nbytes / seconds(lambda: target.copy_(source), device),
    }


def seconds(work: Callable[[], Any], device: str) -> float:
    """Seconds of one of several calls in a row: the best round, after one that is not counted."""
    return min(stretch(work, device) for _ in range(1 + ROUNDS))


def stretch(work: Callable[[], Any], device: str) -> float:
    """Seconds of one of several calls in a row."""
    wait = (lambda: None) if device == "cpu" else torch.cuda.synchronize
    wait()
    began = perf_counter()
    for _ in range(CALLS):
        work()
    wait()
    return (perf_counter() - began) / CALLS
