"""Threads: what NumPy computes on one core, divided among as many as the libraries of this process use."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What OpenMP, OpenBLAS and MKL look at."""


def cores(process: int = 0) -> int:
    """Cores that a process may run on; 0 is this one."""
    return len(os.sched_getaffinity(process))


def threads_of(environment: Mapping[str, str]) -> int:
    """The threads that kernels use in a process with this environment."""
    text = environment.get(VARIABLES[0], "")
    return int(text) if text.isdecimal() and int(text) else cores()


@cache
def _others() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, threads_of(os.environ) - 1), "netpart-kernels")


def together(works: Sequence[Callable[[], object]]) -> None:
    """Does all ``works``, the first on this thread and each other one on another; they must not wait for each other.

    Raises what the first of them that fails has raised, when none is at work any more.
    """
    others = [_others().submit(work) for work in works[1:]]
    try:
        works[0]()
    finally:
        wait(others)
    for other in others:
        other.result()
