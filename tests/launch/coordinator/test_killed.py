"""A worker that fails because another one was killed is not blamed, even if it says so before the death shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from netpart.launch.coordinator.blame import Blame
from netpart.launch.coordinator.watchdog import MemberRecord
from netpart.launch.teams.processes import ProcessTeam
from netpart.proto.cluster import Cluster
from netpart.proto.control_pb2 import FailedProto


def test_a_death_that_shows_late_is_waited_for(tmp_path: Path) -> None:
    """The process dies of a signal a moment after it is asked about."""
    command = [sys.executable, "-c", "import os, signal; input(); os.kill(os.getpid(), signal.SIGKILL)"]
    team = ProcessTeam(1, tmp_path)
    blame = Blame([MemberRecord(0), MemberRecord(1)], Cluster(2), team)
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        team.processes.append(process)
        team.watches.append(os.pidfd_open(process.pid))
        try:
            assert blame.killed(MemberRecord(1), 0.0) == {}
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.flush()
            (how,) = blame.killed(MemberRecord(1), 30.0).values()
            assert "SIGKILL" in how
        finally:
            team.kill()


class Deaths(ProcessTeam):
    """Two workers that ended: worker 0 crashed as worker 1 was killed."""

    def dead(self) -> dict[int, str]:
        return {0: "signal 11, SIGSEGV", 1: "signal 9, SIGKILL: from outside"}


def test_of_two_deaths_the_cause_explains_a_failure(tmp_path: Path) -> None:
    members = [MemberRecord(rank) for rank in range(3)]
    failed = FailedProto(rank=2, doing="receiving", message="worker 0 is gone", kind="TransportError")
    error = Blame(members, Cluster(3), Deaths(3, tmp_path)).failure(members[2], failed)
    assert str(error).startswith("worker 1: died (signal 9, SIGKILL")
    assert getattr(error, "lost", None) == (0, 1)


def test_a_worker_is_named_once(tmp_path: Path) -> None:
    members = [MemberRecord(0), MemberRecord(1)]
    failed = FailedProto(rank=1, doing="listening at tcp://10.9.9.9:7", message="rank 1: expected that to be usable")
    failed.kind = "TransportError"
    error = Blame(members, Cluster(2), ProcessTeam(2, tmp_path)).failure(members[1], failed)
    assert str(error) == "worker 1: before step 0, listening at tcp://10.9.9.9:7: expected that to be usable"
