"""mpiexec: where MPI's launcher is, and its command line."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from netpart.errors import ConfigError

INSTALL = "pip install 'netpart[mpi]'"


def find_mpiexec() -> str:
    """The path of mpiexec: in the folder of this python, where the MPICH wheel installs it, or else in PATH.

    Raises ConfigError if mpiexec or mpi4py is missing.
    """
    if find_spec("mpi4py") is None:
        raise ConfigError("launcher mpi", f"mpi4py installed for {sys.executable}", "none", INSTALL)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    found = shutil.which("mpiexec", path=path)
    if found is None:
        raise ConfigError("launcher mpi", f"mpiexec next to {sys.executable} or in PATH", "none", INSTALL)
    return found


def mpiexec_arguments(workers: int, logs: Path, hosts: Path | None, address: str) -> list[str]:
    """The options of mpiexec for ``workers`` processes, which write to ``logs``/worker-RANK.log.

    They run on this host, or on the hosts of the host file ``hosts``, which reach this host at ``address``.
    """
    pattern = str(logs.absolute() / "worker-%r.log")
    where = ["-f", str(hosts), "-localhost", address] if hosts else ["-launcher", "fork"]
    return [*where, "-n", str(workers), "-outfile-pattern", pattern, "-errfile-pattern", pattern]
