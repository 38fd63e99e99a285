"""How many cores the kernels of a process use: their libraries read it from the environment when they are loaded."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from netpart.errors import ConfigError
from netpart.units import plural_text

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What OpenMP, OpenBLAS and MKL look at."""
NUMBERS = re.compile(r"\s*[1-9][0-9]*\s*(,\s*[1-9][0-9]*\s*)*", re.ASCII)
"""What they may say; the first of several holds for what is not nested."""
WAIT = "OMP_WAIT_POLICY"
"""Threads that wait actively take the cores that other workers compute on."""
HERE = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE")
"""Where a person, torchrun, Open MPI, MPICH and Slurm say how many processes are on a host; the first one counts."""
BUSY, CROWDED = 8, 64
"""Workers per core beyond which a run is warned about, and refused."""
BOOT = Path("/proc/sys/kernel/random/boot_id")
"""What Linux calls itself since it was started."""
NODE = "SLURM_NODEID"
"""Slurm tells the number for every node: which one this is."""


def requested_threads(job: JobProto) -> int:
    """Threads of each worker, as a job says; 0 for a share of its host's cores."""
    return job.num_openblas_threads if job.HasField("num_openblas_threads") else 0


def child_thread_variables(workers: int, threads: int = 0) -> dict[str, str]:
    """The variables of each of ``workers`` processes that this one starts on its host.

    ``threads`` of each, if not 0; else as many as the environment says, or else an even share of the cores.
    """
    return _thread_variables(available_cores() // workers, threads, workers > 1)


def own_thread_variables(environment: Mapping[str, str], threads: int = 0) -> dict[str, str]:
    """The same for this process, which a launcher may have started beside others, as its environment tells.

    A launcher that gave each process cores of its own has kept the cores of all: what it may use is to be shared.
    """
    here = count_local_processes(environment)
    return _thread_variables(min(available_cores(), available_cores(os.getppid()) // here), threads, here > 1)


def _thread_variables(share: int, threads: int, beside_others: bool) -> dict[str, str]:
    """``threads``, or else what the environment says, to OpenMP for all where no more, or else ``share``."""
    said = {} if threads else _read_thread_variables(os.environ)
    text = said.get(THREAD_VARIABLES[0], str(threads or max(1, share)))
    found = {name: said.get(name, text) for name in THREAD_VARIABLES}
    return found | {WAIT: os.environ.get(WAIT, "passive")} if beside_others else found


def _read_thread_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """What the environment says of threads; "" says nothing. Raises ConfigError for what is no number of them."""
    found = {name: environment[name] for name in THREAD_VARIABLES if environment.get(name)}
    for name, text in found.items():
        if not NUMBERS.fullmatch(text):
            raise ConfigError(name, "a number from 1", repr(text), "unset it, or write --threads N")
    return found


def oversubscription_warning(workers: int) -> str:
    """A warning for many workers of this host on few cores, "" for no more than BUSY per core.

    Raises ConfigError for more than CROWDED per core: they would take the host's memory before the first step.
    """
    here = f"{plural_text(workers, 'worker')} on {plural_text(available_cores(), 'core')}"
    if workers > CROWDED * available_cores():
        hint = f"run {CROWDED * available_cores()} or fewer here; netpart simulate and netpart verify play any number"
        raise ConfigError("--workers", f"at most {CROWDED} workers per core of this host", here, hint)
    often = "they take turns, so the run takes longer than with fewer"
    return f"{here}: {often}" if workers > BUSY * available_cores() else ""


def count_local_processes(environment: Mapping[str, str]) -> int:
    """How many processes a launcher has started on this host; 1 if none tells. Raises ConfigError for no number."""
    for name in HERE:
        if name in environment:
            counts = _expand_node_counts(name, environment[name])
            node = environment.get(NODE, "")
            return counts[int(node)] if node.isdecimal() and int(node) < len(counts) else counts[0]
    return 1


def _expand_node_counts(name: str, text: str) -> list[int]:
    """The numbers of each node that ``text``, the value of ``name``, stands for: of "5,4(x3)" they are 5, 4, 4, 4."""
    parts = [re.fullmatch(r"([1-9][0-9]*)(?:\(x([1-9][0-9]*)\))?", part) for part in text.split(",")]
    found = [int(part[1]) for part in parts if part for _ in range(int(part[2] or 1))]
    if None in parts:
        raise ConfigError(name, "a number from 1", repr(text), "unset it if no launcher has set it")
    return found


def available_cores(process: int = 0) -> int:
    """Cores that a process may run on; 0 is this one."""
    return len(os.sched_getaffinity(process))


def host_identity() -> str:
    """What tells the host of these cores from others; containers on it say the same."""
    try:
        return BOOT.read_text().strip()
    except OSError:
        return socket.gethostname()


def kernel_threads(environment: Mapping[str, str]) -> int:
    """The threads that kernels use in a process with this environment."""
    text = environment.get(THREAD_VARIABLES[0], "")
    return int(text.split(",")[0]) if NUMBERS.fullmatch(text) else available_cores()
