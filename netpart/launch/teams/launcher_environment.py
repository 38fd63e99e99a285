"""Rank and size that a process learns from the launcher that started it: torchrun, mpirun, srun, an indexed Job.

| launcher                      | rank                 | of how many          | where rank 0 is                 |
|-------------------------------|----------------------|----------------------|---------------------------------|
| torchrun, a PyTorchJob        | RANK                 | WORLD_SIZE           | MASTER_ADDR                     |
| Open MPI                      | OMPI_COMM_WORLD_RANK | OMPI_COMM_WORLD_SIZE | NETPART_MEET                    |
| MPICH, Intel MPI              | PMI_RANK             | PMI_SIZE             | NETPART_MEET                    |
| any launcher with PMIx        | PMIX_RANK            | –                    | NETPART_MEET                    |
| Slurm                         | SLURM_PROCID         | SLURM_NTASKS         | SLURM_LAUNCH_NODE_IPADDR        |
| Kubernetes, an indexed Job    | JOB_COMPLETION_INDEX | –                    | NETPART_MEET                    |

The first row whose rank is set is used; for torchrun's, also MASTER_ADDR must be set, since RANK is a common name. With
mpirun inside a Slurm job both are set, and mpirun's values are the right ones; so are torchrun's inside any of them.
Rank 0 listens at MASTER_PORT, or at port 20000 + SLURM_JOB_ID mod 10000.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from netpart.errors import ConfigError
from netpart.launch.control.address import host_and_port, tcp_address

MEET = "NETPART_MEET"
"""The name of the variable with tcp://HOST:PORT, where rank 0 listens. It takes precedence over the launcher's
variables."""
FIRST_PORT, PORTS = 20000, 10000
"""Each Slurm job uses its own port in this range, so that jobs on one host do not collide. The range is below the ports
that the kernel assigns by itself."""

AGENT_STORE = "TORCHELASTIC_USE_AGENT_STORE"
"""The name of torchrun's variable: "True" if its agent listens at MASTER_PORT."""


class LauncherVariables(NamedTuple):
    """The names of a launcher's variables; "" for a value that it does not provide.

    ``job`` is a number from which the port of a job is made. ``port`` is the port itself.
    """

    name: str
    rank: str
    size: str
    host: str = ""
    job: str = ""
    port: str = ""

    def applies(self, environment: Mapping[str, str]) -> bool:
        """True if this launcher has started the process. A launcher with a port sets the host too."""
        return self.rank in environment and (not self.port or self.host in environment)


LAUNCHERS = (
    LauncherVariables("torchrun", "RANK", "WORLD_SIZE", "MASTER_ADDR", port="MASTER_PORT"),
    LauncherVariables("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    LauncherVariables("MPICH", "PMI_RANK", "PMI_SIZE"),
    LauncherVariables("PMIx", "PMIX_RANK", ""),
    LauncherVariables("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LAUNCH_NODE_IPADDR", "SLURM_JOB_ID"),
    LauncherVariables("Kubernetes", "JOB_COMPLETION_INDEX", ""),
)


@dataclass(frozen=True)
class LaunchedRank:
    """The identity of a process: ``rank`` of ``size`` (None: unknown); all ranks meet at ``meet`` ("": unknown).

    ``source`` is the variable that ``meet`` comes from, or the one that is missing for it.
    """

    launcher: str
    rank: int
    size: int | None
    meet: str
    source: str = MEET


def find_launched_rank(environment: Mapping[str, str]) -> LaunchedRank | None:
    """Read rank, size and meeting address from the environment; None if it has no variable of a known launcher.

    Raises ConfigError for a value that is not a number, or a rank that is not below the size.
    """
    for launcher in LAUNCHERS:
        if launcher.applies(environment):
            rank = _read_number_variable(environment, launcher.rank)
            size = _read_number_variable(environment, launcher.size) if launcher.size in environment else None
            if size is not None and rank >= size:
                hint = "start every process with one launcher, or unset both"
                raise ConfigError(launcher.rank, f"a rank below {launcher.size}, {size}", str(rank), hint)
            return LaunchedRank(launcher.name, rank, size, *_rendezvous_address(environment, launcher))
    return None


def _rendezvous_address(environment: Mapping[str, str], launcher: LauncherVariables) -> tuple[str, str]:
    """The address of rank 0, "" if it is unknown, and the variable that it comes from or that is missing for it."""
    if environment.get(MEET) or not environment.get(launcher.host):
        return environment.get(MEET, ""), MEET
    if launcher.port and launcher.port not in environment:
        return "", launcher.port
    address = tcp_address(environment[launcher.host], _rendezvous_port(environment, launcher))
    return address, launcher.port or launcher.host


def _rendezvous_port(environment: Mapping[str, str], launcher: LauncherVariables) -> int:
    """The launcher's port, or one derived from the job's number.

    An agent of torchrun listens at MASTER_PORT itself, and says so; the port after it is used then.
    """
    if launcher.port in environment:
        taken = environment.get(AGENT_STORE) == "True"
        return _read_number_variable(environment, launcher.port) + taken
    job = _read_number_variable(environment, launcher.job) if launcher.job in environment else 0
    return FIRST_PORT + job % PORTS


def _read_number_variable(environment: Mapping[str, str], name: str) -> int:
    """The value of a variable that must be a number. Raises ConfigError."""
    text = environment[name]
    if not (text.isascii() and text.isdecimal()):
        raise ConfigError(name, "a number from 0", repr(text), "unset it if no launcher has set it")
    return int(text)


def require_launched_rank(environment: Mapping[str, str]) -> LaunchedRank:
    """The rank of this process among those that run the same command. Raises ConfigError that names the missing
    variable."""
    adopted = find_launched_rank(environment)
    if adopted is None:
        raise _unlaunched_error(environment)
    if not adopted.meet:
        what = (
            "an address of the host of rank 0, tcp://HOST:PORT"
            if adopted.source == MEET
            else "a free port of the host of rank 0"
        )
        hint = f"set it to {what}, the same for all"
        raise ConfigError("--launcher env", f"{adopted.source} in the environment", "none", hint)
    host_and_port(adopted.meet, adopted.source)
    return adopted


def _unlaunched_error(environment: Mapping[str, str]) -> ConfigError:
    """The error for an environment that is no launcher's: the variable that is missing for the rank that it has."""
    for launcher in LAUNCHERS:
        if launcher.rank in environment:
            hint = f"set {launcher.host} and {launcher.port} to where rank 0 listens, the same for all"
            return ConfigError("--launcher env", f"{launcher.host} with {launcher.rank}", "none", hint)
    names = ", ".join(launcher.rank for launcher in LAUNCHERS)
    hint = "start every process with mpirun, srun or as an indexed Job"
    return ConfigError("--launcher env", f"one of {names} in the environment", "none", hint)
