"""Cores: how many threads the kernels of a process use. Their libraries read it from the environment when they are
loaded."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from netpart.errors import ConfigError
from netpart.threads import NUMBERS, THREAD_VARIABLES, available_cores
from netpart.units import plural_text

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto

WAIT = "OMP_WAIT_POLICY"
"""With several workers on a host, threads must not wait actively: they would take the cores of other workers."""
HERE = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE")
"""Variables in which the user, torchrun, Open MPI, MPICH and Slurm set how many processes are on a host. The first one
set is used."""
BUSY, CROWDED = 8, 64
"""Numbers of workers per core above which a run prints a warning, and is refused."""
BOOT = Path("/proc/sys/kernel/random/boot_id")
"""Linux's identifier of this boot of the host."""
NODE = "SLURM_NODEID"
"""Slurm lists the number of processes for every node; this variable is the index of this node."""


def requested_threads(job: JobProto) -> int:
    """Threads of each worker that the job sets; 0 for a share of its host's cores."""
    return job.num_openblas_threads if job.HasField("num_openblas_threads") else 0


def child_thread_variables(workers: int, threads: int = 0) -> dict[str, str]:
    """The variables of each of ``workers`` processes that this one starts on its host.

    Each uses ``threads`` threads if not 0, else the number in the environment, else an even share of the cores.
    """
    return _thread_variables(available_cores() // workers, threads, workers > 1)


def own_thread_variables(environment: Mapping[str, str], threads: int = 0) -> dict[str, str]:
    """The same for this process, which a launcher may have started with others, as ``environment`` shows.

    If the launcher has bound each process to cores of its own, those are used. Otherwise all processes share the cores
    of their parent.
    """
    here = count_local_processes(environment)
    # The parent's cores are those of all processes together, even if this process is already bound to a few of them.
    return _thread_variables(min(available_cores(), available_cores(os.getppid()) // here), threads, here > 1)


def _thread_variables(share: int, threads: int, beside_others: bool) -> dict[str, str]:
    """Set every variable: to ``threads``, else to the value in the environment (OpenMP's for all that lack one), else
    to ``share``."""
    given = {} if threads else _read_thread_variables(os.environ)
    text = given.get(THREAD_VARIABLES[0], str(threads or max(1, share)))
    found = {name: given.get(name, text) for name in THREAD_VARIABLES}
    return found | {WAIT: os.environ.get(WAIT, "passive")} if beside_others else found


def _read_thread_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The thread variables in the environment; an empty one counts as unset. Raises ConfigError for an invalid
    number."""
    found = {name: environment[name] for name in THREAD_VARIABLES if environment.get(name)}
    for name, text in found.items():
        if not NUMBERS.fullmatch(text):
            raise ConfigError(name, "a number from 1", repr(text), "unset it, or write --threads N")
    return found


def oversubscription_warning(workers: int) -> str:
    """A warning for many workers of this host on few cores; "" for at most BUSY per core.

    Raises ConfigError for more than CROWDED per core: they would use up the host's memory before the first step.
    """
    here = f"{plural_text(workers, 'worker')} on {plural_text(available_cores(), 'core')}"
    if workers > CROWDED * available_cores():
        hint = f"run {CROWDED * available_cores()} or fewer here; netpart simulate and netpart verify play any number"
        raise ConfigError("--workers", f"at most {CROWDED} workers per core of this host", here, hint)
    often = "they take turns, so the run takes longer than with fewer"
    return f"{here}: {often}" if workers > BUSY * available_cores() else ""


def count_local_processes(environment: Mapping[str, str]) -> int:
    """How many processes a launcher has started on this host; 1 if no variable is set. Raises ConfigError for an
    invalid number."""
    for name in HERE:
        if name in environment:
            counts = _expand_node_counts(name, environment[name])
            node = environment.get(NODE, "")
            return counts[int(node)] if node.isdecimal() and int(node) < len(counts) else counts[0]
    return 1


def _expand_node_counts(name: str, text: str) -> list[int]:
    """The number of processes on each node from ``text``, the value of ``name``: "5,4(x3)" is 5, 4, 4, 4."""
    parts = [re.fullmatch(r"([1-9][0-9]*)(?:\(x([1-9][0-9]*)\))?", part) for part in text.split(",")]
    found = [int(part[1]) for part in parts if part for _ in range(int(part[2] or 1))]
    if None in parts:
        raise ConfigError(name, "a number from 1", repr(text), "unset it if no launcher has set it")
    return found


def host_identity() -> str:
    """A text that identifies the host of these cores. Containers on one host have the same."""
    try:
        return BOOT.read_text().strip()
    except OSError:
        return socket.gethostname()
