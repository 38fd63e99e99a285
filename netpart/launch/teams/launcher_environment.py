"""What a process learns from the launcher that started it with many others: mpirun, srun, an indexed Job.

| launcher                      | rank                 | of how many          | where rank 0 is                 |
|-------------------------------|----------------------|----------------------|---------------------------------|
| Open MPI                      | OMPI_COMM_WORLD_RANK | OMPI_COMM_WORLD_SIZE | NETPART_MEET                    |
| MPICH, Intel MPI              | PMI_RANK             | PMI_SIZE             | NETPART_MEET                    |
| PMIx, whoever speaks it       | PMIX_RANK            | –                    | NETPART_MEET                    |
| Slurm                         | SLURM_PROCID         | SLURM_NTASKS         | SLURM_LAUNCH_NODE_IPADDR        |
| Kubernetes, an indexed Job    | JOB_COMPLETION_INDEX | –                    | NETPART_MEET                    |

The first row whose rank is set counts: mpirun inside of a Slurm job sees both, and its own is the right one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from netpart.errors import ConfigError
from netpart.launch.control.address import host_and_port, tcp_address

MEET = "NETPART_MEET"
"""tcp://HOST:PORT where rank 0 listens; it goes before what a launcher tells."""
FIRST_PORT, PORTS = 20000, 10000
"""Jobs of Slurm that share a host meet at different ports below those that the kernel gives away by itself."""


class LauncherVariables(NamedTuple):
    """The names of a launcher's variables; "" for what it does not tell."""

    name: str
    rank: str
    size: str
    host: str = ""
    job: str = ""


LAUNCHERS = (
    LauncherVariables("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    LauncherVariables("MPICH", "PMI_RANK", "PMI_SIZE"),
    LauncherVariables("PMIx", "PMIX_RANK", ""),
    LauncherVariables("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LAUNCH_NODE_IPADDR", "SLURM_JOB_ID"),
    LauncherVariables("Kubernetes", "JOB_COMPLETION_INDEX", ""),
)


@dataclass(frozen=True)
class LaunchedRank:
    """Who a process is: ``rank`` of ``size`` (None: not told), which meet at ``meet`` ("": not told)."""

    launcher: str
    rank: int
    size: int | None
    meet: str


def find_launched_rank(environment: Mapping[str, str]) -> LaunchedRank | None:
    """What the environment tells; None if no launcher is known by it. Raises ConfigError for what is no number, or no
    rank."""
    for launcher in LAUNCHERS:
        if launcher.rank in environment:
            rank = _read_number_variable(environment, launcher.rank)
            size = _read_number_variable(environment, launcher.size) if launcher.size in environment else None
            if size is not None and rank >= size:
                hint = "start every process with one launcher, or unset both"
                raise ConfigError(launcher.rank, f"a rank below {launcher.size}, {size}", str(rank), hint)
            return LaunchedRank(
                launcher.name, rank, size, environment.get(MEET) or _rendezvous_address(environment, launcher)
            )
    return None


def _rendezvous_address(environment: Mapping[str, str], launcher: LauncherVariables) -> str:
    """Where a launcher says that rank 0 is, at a port of the job's own."""
    if not launcher.host or launcher.host not in environment:
        return ""
    job = _read_number_variable(environment, launcher.job) if launcher.job in environment else 0
    return tcp_address(environment[launcher.host], FIRST_PORT + job % PORTS)


def _read_number_variable(environment: Mapping[str, str], name: str) -> int:
    """A variable that is a number. Raises ConfigError."""
    text = environment[name]
    if not (text.isascii() and text.isdecimal()):
        raise ConfigError(name, "a number from 0", repr(text), "unset it if no launcher has set it")
    return int(text)


def require_launched_rank(environment: Mapping[str, str]) -> LaunchedRank:
    """Who this process is among those that run the same command. Raises ConfigError, with what is missing."""
    adopted = find_launched_rank(environment)
    if adopted is None:
        names = ", ".join(launcher.rank for launcher in LAUNCHERS)
        hint = "start every process with mpirun, srun or as an indexed Job"
        raise ConfigError("--launcher env", f"one of {names} in the environment", "none", hint)
    if not adopted.meet:
        hint = "set it to an address of the host of rank 0, tcp://HOST:PORT, the same for all"
        raise ConfigError("--launcher env", f"{MEET} in the environment", "none", hint)
    host_and_port(adopted.meet, MEET)
    return adopted
