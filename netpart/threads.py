"""Threads: how many of them this process may use, as its environment and its cores determine."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""The variables that OpenMP, OpenBLAS and MKL read."""
NUMBERS = re.compile(r"\s*[1-9][0-9]*\s*(,\s*[1-9][0-9]*\s*)*", re.ASCII)
"""Their valid values. The first of several numbers is for code that is not nested."""


def kernel_threads(environment: Mapping[str, str]) -> int:
    """Number of threads that kernels use in a process with this environment."""
    text = environment.get(THREAD_VARIABLES[0], "")
    return int(text.split(",")[0]) if NUMBERS.fullmatch(text) else available_cores()


def available_cores(process: int = 0) -> int:
    """Number of cores on which a process may run; ``process`` 0 is this one."""
    return len(os.sched_getaffinity(process))
