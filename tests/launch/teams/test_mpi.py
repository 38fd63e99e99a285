"""MpiTeam and mpiexec: where it is found, how it is called, what is said of ranks that end or stand still."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from netpart.errors import ConfigError
from netpart.launch.control.seats import WorkerSeats
from netpart.launch.control.token import RunToken
from netpart.launch.run import run_job
from netpart.launch.teams import mpiexec
from netpart.launch.teams.mpi import MpiTeam
from netpart.proto.reader import read_job
from tests.end2end.running import mlp

DEADLINE = 30.0
WAIT = """
import os, signal, sys
from netpart.launch.teams.mpi_entry import fork_guarded_worker
fork_guarded_worker()
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(3))
with open(sys.argv[1], "w") as met:
    met.write(f"{os.environ['PMI_RANK']} {os.getpid()}\\n")
signal.pause()
"""


@pytest.fixture
def team(tmp_path: Path) -> Iterator[MpiTeam]:
    """Two ranks that are met, and wait to be ended."""
    os.mkfifo(tmp_path / "met")
    with (
        open(os.open(tmp_path / "met", os.O_RDWR), encoding="utf-8", buffering=1) as met,
        MpiTeam(2, tmp_path / "log", rank=(sys.executable, "-P", "-c", WAIT, str(tmp_path / "met"))) as team,
    ):
        team.start("inproc://nobody", WorkerSeats(RunToken(b"t" * 16), 2))
        for _ in range(2):
            rank, pid = met.readline().split()
            team.note_process(int(rank), int(pid))
        yield team


def await_end(team: MpiTeam) -> None:
    ready, _, _ = select.select(team.descriptors(), [], [], DEADLINE)
    assert ready == team.descriptors()


@pytest.mark.parametrize(
    ("number", "end"),
    [
        (signal.SIGKILL, "signal 9, SIGKILL: from outside, or the host was out of memory"),
        (signal.SIGUSR1, "exit code 3"),
    ],
)
def test_who_ended_first_is_known_though_all_end(team: MpiTeam, number: signal.Signals, end: str) -> None:
    assert (team.dead(), team.running()) == ({}, True)
    os.kill(team.pids[1], number)
    await_end(team)
    assert team.dead() == {1: end}
    assert team.log_tail(1) == f"process {team.pids[1]} ended: {end}"
    assert not team.running()


def test_an_end_of_mpiexec_is_told(team: MpiTeam) -> None:
    assert team.process is not None
    team.process.kill()
    await_end(team)
    assert team.dead()[0].startswith("mpiexec, that is: signal 9, SIGKILL")


def test_a_stopped_rank_is_seen_to_be_and_ends_with_the_others(team: MpiTeam) -> None:
    assert [team.stopped(rank) for rank in (0, 1, 2)] == [False, False, False]
    os.kill(team.pids[0], signal.SIGSTOP)
    end = monotonic() + DEADLINE
    while not team.stopped(0):
        assert monotonic() < end, "never seen to be stopped"
    assert not team.stopped(1)
    watches = [os.pidfd_open(pid) for pid in team.pids.values()]
    team.kill()
    assert all(select.select([watch], [], [], DEADLINE)[0] for watch in watches)
    assert not team.running()
    for watch in watches:
        os.close(watch)


def test_mpiexec_beside_this_python_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("venv", "elsewhere"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mpiexec").touch(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    assert mpiexec.find_mpiexec() == str(tmp_path / "venv" / "mpiexec")
    (tmp_path / "venv" / "mpiexec").unlink()
    assert mpiexec.find_mpiexec() == str(tmp_path / "elsewhere" / "mpiexec")
    (tmp_path / "elsewhere" / "mpiexec").unlink()
    with pytest.raises(
        ConfigError, match=r"expected mpiexec next to .* in PATH, got none; pip install 'netpart\[mpi\]'"
    ):
        mpiexec.find_mpiexec()


def test_what_is_missing_is_named_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpiexec, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"expected mpi4py installed for .* pip install 'netpart\[mpi\]'"):
        run_job(read_job(mlp(tmp_path)), 2, launcher="mpi", workspace=tmp_path / "run")


def test_hosts_need_mpi(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--hosts: expected --launcher mpi, got local; omit one of them"):
        run_job(read_job(mlp(tmp_path)), 2, workspace=tmp_path / "run", hosts=tmp_path / "hosts")


def test_the_token_is_not_on_the_command_line(tmp_path: Path) -> None:
    told = " ".join(mpiexec.mpiexec_arguments(3, tmp_path, tmp_path / "hosts", "10.0.0.1"))
    assert told.startswith(f"-f {tmp_path}/hosts -localhost 10.0.0.1 -n 3 -outfile-pattern {tmp_path}/worker-%r.log")
    assert mpiexec.mpiexec_arguments(3, tmp_path, None, "")[:2] == ["-launcher", "fork"]
