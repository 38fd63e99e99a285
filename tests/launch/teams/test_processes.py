"""ProcessTeam: what it says of processes that end, stand still, or write."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from netpart.launch.control.seats import WorkerSeats
from netpart.launch.control.token import RunToken
from netpart.launch.teams import processes
from netpart.launch.teams.processes import ProcessTeam


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessTeam]:
    """Two processes that write a line and wait to be ended."""
    monkeypatch.setattr(processes, "COMMAND", ("sh", "-c", "echo worker $NETPART_RANK; exec tail -f /dev/null"))
    with ProcessTeam(2, tmp_path / "log") as team:
        team.start("inproc://nobody", WorkerSeats(RunToken(b"t" * 16), 2))
        yield team


def await_state(pid: int, flags: int) -> None:
    """Waits until the kernel has stopped, or continued, a child."""
    os.waitid(os.P_PID, pid, flags | os.WNOWAIT)


def test_a_killed_process_wakes_whoever_polls(team: ProcessTeam) -> None:
    assert team.dead() == {}
    assert team.running()
    os.kill(team.processes[1].pid, signal.SIGKILL)
    ready, _, _ = select.select(team.descriptors(), [], [], 30)
    assert ready == [team.descriptors()[1]]
    assert team.dead() == {1: "signal 9, SIGKILL: from outside, or the host was out of memory"}
    assert team.running()


def test_a_stopped_process_is_seen_to_be(team: ProcessTeam) -> None:
    pid = team.processes[0].pid
    assert not team.stopped(0)
    os.kill(pid, signal.SIGSTOP)
    await_state(pid, os.WSTOPPED)
    assert [team.stopped(0), team.stopped(0), team.stopped(1)] == [True, True, False]
    os.kill(pid, signal.SIGCONT)
    await_state(pid, os.WCONTINUED)
    assert not team.stopped(0)
    assert team.dead() == {}


def test_leaving_ends_stopped_processes_too(team: ProcessTeam) -> None:
    os.kill(team.processes[0].pid, signal.SIGSTOP)
    team.kill()
    assert team.dead().keys() == {0, 1}
    assert not team.running()
    assert team.descriptors() == []


def test_logs_are_quoted_from_their_end(team: ProcessTeam) -> None:
    team.log(1).write_text("".join(f"line {i}\n" for i in range(20)))
    assert team.log_tail(1, 2) == "line 18\nline 19"
    team.log(0).unlink()
    assert team.log_tail(0) == ""
