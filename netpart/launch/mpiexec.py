"""mpiexec: where MPICH's launcher is, how it is called, and what it says of processes that ended badly."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from netpart.errors import NetpartError
from netpart.launch.processes import how

INSTALL = "pip install netpart[mpi]"
STATUSES = re.compile(r"\[[^\]]*\] (\d+(?:,\d+)*)")
"""Wait statuses of the processes of a host, in the order of their ranks: "[node1] 0,9,0"."""


def find() -> str:
    """The path of mpiexec: beside this python, where the wheel of MPICH puts it, or else in PATH.

    Raises NetpartError if it, or mpi4py, is missing.
    """
    if find_spec("mpi4py") is None:
        raise NetpartError(f"launcher mpi: expected mpi4py beside {sys.executable}, got none; {INSTALL}")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    found = shutil.which("mpiexec", path=path)
    if found is None:
        raise NetpartError(f"launcher mpi: expected mpiexec beside {sys.executable} or in PATH, got none; {INSTALL}")
    return found


def arguments(workers: int, logs: Path, hosts: Path | None) -> list[str]:
    """The options for ``workers`` processes on ``hosts``, which write to ``logs``/worker-RANK.log."""
    pattern = str(logs.absolute() / "worker-%r.log")
    chosen = ["-f", str(hosts)] if hosts else ["-launcher", "fork"]
    return [
        *chosen, "-n", str(workers), "-print-all-exitcodes", "-outfile-pattern", pattern, "-errfile-pattern", pattern,
    ]  # fmt: skip


def culprit(said: str, pids: Mapping[int, int]) -> tuple[int, str] | None:
    """Which rank mpiexec ended all others for, and how it had ended: "signal 9, SIGKILL"; None if it does not say.

    ``said`` is what mpiexec wrote, ``pids`` the process of each rank. An exit code shows in the list of all statuses,
    where a signal may be that of the clean-up; the process id that is named is the first that a signal ended.
    """
    line = next((line for line in said.splitlines() if "Exit codes:" in line), "")
    statuses = [int(n) for found in STATUSES.findall(line) for n in found.split(",")]
    codes = {rank: os.waitstatus_to_exitcode(status) for rank, status in enumerate(statuses)}
    for rank, code in codes.items():
        if code > 0:
            return rank, how(code)
    named, number = re.search(r"PID (\d+) RUNNING", said), re.search(r"\(signal (\d+)\)", said)
    ranks = {pid: rank for rank, pid in pids.items()}
    if named is None or number is None or int(named[1]) not in ranks:
        return None
    return ranks[int(named[1])], how(-int(number[1]))
