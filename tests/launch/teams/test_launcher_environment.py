"""Adoption: what the environments of launchers tell, and what is missing in them."""

from __future__ import annotations

import re

import pytest

from netpart.errors import ConfigError
from netpart.launch.teams import launcher_environment as module
from netpart.launch.teams.launcher_environment import LAUNCHERS, LaunchedRank, find_launched_rank, require_launched_rank

MEET = {"NETPART_MEET": "tcp://10.0.0.1:5555"}
SLURM = {
    "SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_LAUNCH_NODE_IPADDR": "10.0.0.9", "SLURM_JOB_ID": "1234567",
}  # fmt: skip
TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "MASTER_ADDR": "10.0.0.9", "MASTER_PORT": "29500"}
HOST = "SLURM_LAUNCH_NODE_IPADDR"
AGENT = {"TORCHELASTIC_USE_AGENT_STORE": "True"}
CASES = {
    "PyTorchJob": (TORCHRUN, LaunchedRank("torchrun", 1, 2, "tcp://10.0.0.9:29500", "MASTER_PORT")),
    "torchrun": (TORCHRUN | AGENT, LaunchedRank("torchrun", 1, 2, "tcp://10.0.0.9:29501", "MASTER_PORT")),
    "torchrun in Slurm": (SLURM | TORCHRUN, LaunchedRank("torchrun", 1, 2, "tcp://10.0.0.9:29500", "MASTER_PORT")),
    "a rank of somebody": (SLURM | {"RANK": "7"}, LaunchedRank("Slurm", 3, 4, "tcp://10.0.0.9:24567", HOST)),
    "Open MPI": ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, LaunchedRank("Open MPI", 1, 2, "")),
    "MPICH": ({"PMI_RANK": "0", "PMI_SIZE": "8"} | MEET, LaunchedRank("MPICH", 0, 8, "tcp://10.0.0.1:5555")),
    "PMIx": ({"PMIX_RANK": "5"}, LaunchedRank("PMIx", 5, None, "")),
    "Slurm": (SLURM, LaunchedRank("Slurm", 3, 4, "tcp://10.0.0.9:24567", HOST)),
    "Slurm, told where": (SLURM | MEET, LaunchedRank("Slurm", 3, 4, "tcp://10.0.0.1:5555")),
    "mpirun in Slurm": (SLURM | {"PMI_RANK": "1", "PMI_SIZE": "2"}, LaunchedRank("MPICH", 1, 2, "")),
    "Kubernetes": ({"JOB_COMPLETION_INDEX": "2"} | MEET, LaunchedRank("Kubernetes", 2, None, "tcp://10.0.0.1:5555")),
}


@pytest.mark.parametrize(("environment", "expected"), CASES.values(), ids=CASES)
def test_what_a_launcher_tells(environment: dict[str, str], expected: LaunchedRank) -> None:
    assert find_launched_rank(environment | {"HOME": "/"}) == expected


def test_nobody_has_started_it() -> None:
    assert find_launched_rank({"HOME": "/", "SLURM_JOB_ID": "7"}) is None


@pytest.mark.parametrize("text", ["", "one", "-1", "²"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(ConfigError, match="PMI_RANK: expected a number from 0, got"):
        find_launched_rank({"PMI_RANK": text})


def test_a_rank_is_below_the_size() -> None:
    with pytest.raises(
        ConfigError, match="PMI_RANK: expected a rank below PMI_SIZE, 2, got 2; start every process with"
    ):
        find_launched_rank({"PMI_RANK": "2", "PMI_SIZE": "2"})


def test_one_of_many_needs_a_launcher_and_a_place_to_meet() -> None:
    with pytest.raises(
        ConfigError, match=r"expected one of RANK, OMPI_COMM_WORLD_RANK, .* in the environment, got none"
    ):
        require_launched_rank(MEET)
    with pytest.raises(ConfigError, match="expected NETPART_MEET in the environment, got none; set it"):
        require_launched_rank({"JOB_COMPLETION_INDEX": "0"})
    with pytest.raises(ConfigError, match=r"NETPART_MEET: expected an address like .*, got 'node1'"):
        require_launched_rank({"JOB_COMPLETION_INDEX": "0", "NETPART_MEET": "node1"})
    assert require_launched_rank(SLURM).rank == 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"MASTER_ADDR": None},
            "--launcher env: expected MASTER_ADDR with RANK, got none; set MASTER_ADDR and MASTER_PORT",
        ),
        (
            {"MASTER_PORT": None},
            "--launcher env: expected MASTER_PORT in the environment, got none; set it to a free",
        ),
        ({"MASTER_PORT": "99999"}, "MASTER_PORT: expected a port from 1 to 65535, got 99999 in tcp://10.0.0.9:99999"),
    ],
)
def test_the_variable_at_fault_is_the_one_that_is_named(changed: dict[str, str | None], message: str) -> None:
    given = {name: value for name, value in (TORCHRUN | changed).items() if value is not None}
    with pytest.raises(ConfigError, match=message):
        require_launched_rank(given)


def test_the_table_of_the_module_is_the_one_that_is_used() -> None:
    rows = re.findall(r"^\|.*\| (\w+) +\| (\w+|–) +\| (\w+) +\|$", module.__doc__ or "", flags=re.MULTILINE)
    assert rows == [(row.rank, row.size or "–", row.host or "NETPART_MEET") for row in LAUNCHERS]
