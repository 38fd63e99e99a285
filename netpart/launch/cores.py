"""How many cores the kernels of a process use: their libraries read it from the environment when they are loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What OpenMP, OpenBLAS and MKL look at."""
WAIT = "OMP_WAIT_POLICY"
"""Threads that wait actively take the cores that other workers compute on."""


def shared(workers: int, threads: int = 0) -> dict[str, str]:
    """The variables of each of ``workers`` processes that share this host.

    ``threads`` of each, if not 0; else as many as the environment says, or else an even share of the cores.
    """
    share = str(threads or max(1, cores() // workers))
    found = {name: share if threads else os.environ.get(name, share) for name in THREAD_VARIABLES}
    return found if workers == 1 else found | {WAIT: os.environ.get(WAIT, "passive")}


def cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0))


def threads_of(environment: Mapping[str, str]) -> int:
    """The threads that kernels use in a process with this environment."""
    text = environment.get(THREAD_VARIABLES[0], "")
    return int(text) if text.isdecimal() and int(text) else cores()
