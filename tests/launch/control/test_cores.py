"""How the workers of a host share its cores."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from netpart.errors import ConfigError
from netpart.launch.control.cores import (
    HERE,
    WAIT,
    child_thread_variables,
    count_local_processes,
    host_identity,
    oversubscription_warning,
    own_thread_variables,
)
from netpart.threads import THREAD_VARIABLES, available_cores, kernel_threads


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*THREAD_VARIABLES, WAIT, *HERE):
        monkeypatch.delenv(name, raising=False)


def test_each_gets_an_even_share_and_at_least_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: range(8))
    assert [kernel_threads(child_thread_variables(n)) for n in (1, 3, 8, 20)] == [8, 2, 1, 1]


def test_nobody_waits_actively_beside_others() -> None:
    assert WAIT not in child_thread_variables(1)
    assert child_thread_variables(2)[WAIT] == "passive"


def test_what_is_asked_for_goes_before_the_environment_and_that_before_a_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "5")
    assert kernel_threads(child_thread_variables(2)) == 5
    assert kernel_threads(child_thread_variables(2, 3)) == 3


def test_what_openmp_is_told_holds_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert {child_thread_variables(1)[name] for name in THREAD_VARIABLES} == {"3"}


def test_the_first_of_nested_numbers_counts_and_nothing_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREAD_VARIABLES[0], "4, 2")
    monkeypatch.setenv(THREAD_VARIABLES[1], "")
    assert kernel_threads(child_thread_variables(1)) == 4
    assert child_thread_variables(1)[THREAD_VARIABLES[1]] == "4, 2"


@pytest.mark.parametrize("name", THREAD_VARIABLES)
@pytest.mark.parametrize("text", ["banana", "0", "-1", "2x", "2,,2", "٣"])
def test_what_is_no_number_of_threads(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(ConfigError, match=f"{name}: expected a number from 1, got '{text}'; unset it, or write --thr"):
        child_thread_variables(2)
    assert kernel_threads(child_thread_variables(2, 3)) == 3


def test_processes_of_one_host_name_it_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    assert host_identity() == host_identity()
    monkeypatch.setattr("netpart.launch.control.cores.BOOT", Path("/absent"))
    assert host_identity() == socket.gethostname()


def test_without_a_word_a_process_takes_all_cores() -> None:
    assert kernel_threads({}) == kernel_threads({THREAD_VARIABLES[0]: "many"}) == available_cores()


@pytest.mark.parametrize(
    ("environment", "count"),
    [
        ({}, 1),
        ({"OMPI_COMM_WORLD_LOCAL_SIZE": "3"}, 3),
        ({"MPI_LOCALNRANKS": "2", "SLURM_STEP_TASKS_PER_NODE": "8(x2)", "SLURM_NODEID": "1"}, 2),
        ({"SLURM_STEP_TASKS_PER_NODE": "5,4(x3)", "SLURM_NODEID": "0"}, 5),
        ({"SLURM_STEP_TASKS_PER_NODE": "5,4(x3)", "SLURM_NODEID": "3"}, 4),
        ({"SLURM_STEP_TASKS_PER_NODE": "4"}, 4),
        ({"LOCAL_WORLD_SIZE": "6", "MPI_LOCALNRANKS": "2"}, 6),
    ],
)
def test_launchers_tell_how_many_processes_are_here(environment: dict[str, str], count: int) -> None:
    assert count_local_processes(environment) == count


@pytest.mark.parametrize("text", ["", "0", "two", "2(x)", "2,,2"])
def test_what_is_no_number_of_processes(text: str) -> None:
    with pytest.raises(ConfigError, match="MPI_LOCALNRANKS: expected a number from 1, got"):
        count_local_processes({"MPI_LOCALNRANKS": text})


@pytest.mark.parametrize(
    ("mine", "launchers", "threads"),
    [(8, 8, 2), (2, 8, 2), (4, 8, 2), (2, 2, 1), (16, 32, 8)],
    ids=["shared", "bound to its own", "bound to more than its own", "bound alike", "bound to half of the host"],
)
def test_a_process_of_four_takes_its_share_of_what_their_launcher_has(
    monkeypatch: pytest.MonkeyPatch, mine: int, launchers: int, threads: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: range({0: mine, os.getppid(): launchers}[pid]))
    environment = {HERE[1]: "4"}
    assert kernel_threads(own_thread_variables(environment)) == threads
    assert kernel_threads(own_thread_variables(environment, 7)) == 7
    assert own_thread_variables(environment)[WAIT] == "passive"


def test_a_process_that_nobody_started_beside_others_takes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: range(8))
    assert kernel_threads(own_thread_variables({})) == 8
    assert WAIT not in own_thread_variables({})


def test_many_workers_on_few_cores_are_warned_about_and_a_crowd_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: range(2))
    assert oversubscription_warning(16) == ""
    assert (
        oversubscription_warning(128)
        == "128 workers on 2 cores: they take turns, so the run takes longer than with fewer"
    )
    with pytest.raises(ConfigError, match="at most 64 workers per core of this host, got 129 workers on 2 cores; run "):
        oversubscription_warning(129)
