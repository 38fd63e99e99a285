"""Watch: who is blamed, when, and who never is. The clock is the test's."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.launch.coordinator.watchdog import (
    AWAITED_SECONDS,
    SILENT_SECONDS,
    FailureVerdict,
    MemberRecord,
    Watchdog,
    describe_moment,
)
from netpart.launch.teams.exit_status import ENDED_BY_RAY
from netpart.launch.teams.meeting import JoinTeam, Meeting
from netpart.launch.teams.team import START_SECONDS
from netpart.proto.control_pb2 import BeatProto

LOOK = 0.25
PATIENCE = 20.0


class Scene:
    """Two workers: both introduced unless said otherwise; worker 0 beats at every look, worker 1 until it is silent."""

    def __init__(self, introduced: bool = True) -> None:
        self.members = [MemberRecord(rank, identity=b"x" if introduced else b"") for rank in range(2)]
        self.members[1].beat = BeatProto(rank=1, phase="train", step=7, doing="forward conv1-01")
        self.now = 100.0
        self.watch = Watchdog(self.members, PATIENCE, self.now)
        self.stopped: set[int] = set()
        self.dead: dict[int, str] = {}

    def look(self, seconds: float = LOOK) -> FailureVerdict | None:
        self.now += seconds
        self.members[0].heard = self.now
        return self.watch.look(self.now, self.dead, self.stopped.__contains__)

    def blamed_after(self, limit: float) -> tuple[float, str] | None:
        """How long it takes until worker 1 is blamed, and how; None if it is not blamed within ``limit``."""
        began = self.now
        while self.now - began < limit:
            verdict = self.look()
            if verdict is not None:
                assert verdict.rank == 1
                return self.now - began, verdict.text
        return None


def test_a_dead_worker_is_blamed_at_once() -> None:
    scene = Scene()
    scene.dead[1] = "signal 9, SIGKILL"
    found = scene.look(0.01)
    assert found == FailureVerdict(1, "died (signal 9, SIGKILL), last heard in train step 7, forward conv1-01")


KILLED, CRASHED, FAILED = "signal 9, SIGKILL: from outside", "signal 11, SIGSEGV", "exit code 1"


@pytest.mark.parametrize("consequence", [CRASHED, FAILED])
@pytest.mark.parametrize("cause", [KILLED, f"{ENDED_BY_RAY}: the node was lost", CRASHED])
def test_of_workers_that_died_together_the_cause_is_blamed(cause: str, consequence: str) -> None:
    """The link of a peer may crash, or fail, before the death is looked at."""
    scene = Scene()
    scene.dead = {0: consequence, 1: cause}
    verdict = scene.look(0.01)
    assert verdict is not None
    assert verdict.rank == (0 if cause == consequence else 1)


def test_a_dead_worker_is_blamed_also_when_it_had_finished() -> None:
    scene = Scene()
    scene.members[1].finished, scene.dead[1] = object(), "exit code 1"
    assert scene.look(0.01) is not None


@pytest.mark.parametrize("introduced", [True, False], ids=["in a step", "at start-up"])
def test_a_stopped_worker_is_blamed_within_five_seconds(introduced: bool) -> None:
    scene = Scene(introduced)
    scene.stopped.add(1)
    found = scene.blamed_after(10)
    assert found is not None
    assert SILENT_SECONDS < found[0] < 4.5
    assert found[1].startswith("stopped, or its link is lost: not heard for 3.")
    assert found[1].endswith("last heard in train step 7, forward conv1-01")


def test_a_stopped_worker_that_all_others_wait_for_is_blamed_sooner() -> None:
    scene = Scene()
    scene.watch.is_awaited = True
    scene.stopped.add(1)
    found = scene.blamed_after(10)
    assert found is not None
    assert AWAITED_SECONDS < found[0] < SILENT_SECONDS


def test_a_busy_worker_that_all_others_wait_for_has_as_long_as_any() -> None:
    scene = Scene()
    scene.watch.is_awaited = True
    assert scene.blamed_after(SILENT_SECONDS) is None


def test_a_worker_whose_link_closes_is_blamed_at_once() -> None:
    scene = Scene()
    scene.stopped.add(1)
    scene.members[1].closed = scene.now
    found = scene.blamed_after(10)
    last = "last heard in train step 7, forward conv1-01"
    assert found == (LOOK, f"ended or stopped, or its link is lost: that has closed, {last}")


def test_of_several_links_the_first_that_closed_is_blamed() -> None:
    scene = Scene()
    scene.stopped |= {0, 1}
    scene.members[0].closed, scene.members[1].closed = scene.now + 0.02, scene.now + 0.01
    verdict = scene.look()
    assert verdict is not None
    assert verdict.rank == 1


def test_a_closed_link_of_a_process_that_is_known_to_run_blames_nobody() -> None:
    scene = Scene()
    scene.members[1].closed = scene.now
    assert scene.blamed_after(2.5) is None


def test_a_launcher_that_learns_more_has_time_for_that() -> None:
    scene = Scene()
    scene.watch.closed_seconds = 1.0
    scene.stopped.add(1)
    scene.members[1].closed = scene.now
    assert scene.look(0.9) is None
    assert scene.look(0.2) is not None


def test_a_worker_that_is_stopped_for_a_moment_is_forgiven() -> None:
    scene = Scene()
    scene.stopped.add(1)
    assert scene.blamed_after(2) is None
    scene.stopped.clear()
    scene.members[1].heard = scene.now
    assert scene.blamed_after(3) is None


def test_a_long_computation_is_not_a_hang() -> None:
    """Its heartbeat may fall silent, while a kernel holds the interpreter; but it is seen to run."""
    assert Scene().blamed_after(PATIENCE - 1) is None


def test_patience_ends() -> None:
    found = Scene().blamed_after(2 * PATIENCE)
    assert found is not None
    assert "runs, but is not heard for 20.2 s" in found[1]


def test_a_watch_that_was_suspended_blames_nobody() -> None:
    scene = Scene()
    scene.stopped.add(1)
    assert scene.look(1000.0) is None
    scene.stopped.clear()
    scene.members[1].heard = scene.now
    assert scene.blamed_after(PATIENCE - 1) is None


def test_after_a_suspension_a_stopped_worker_is_still_found() -> None:
    scene = Scene()
    scene.stopped.add(1)
    scene.look(1000.0)
    found = scene.blamed_after(10)
    assert found is not None
    assert found[0] < 4.5


def test_a_worker_that_never_comes() -> None:
    scene = Scene(introduced=False)
    scene.members[0].identity = b"x"
    found = scene.blamed_after(2 * START_SECONDS)
    assert found is not None
    assert found[1] == "did not connect within 60 s of its start; look at its log"


def test_a_worker_that_is_started_later_has_as_long() -> None:
    scene = Scene()
    for _ in range(int(2 * START_SECONDS / LOOK)):
        scene.members[1].heard = scene.now
        assert scene.look() is None
    scene.members[1] = MemberRecord(1, heard=scene.now, since=scene.now)
    found = scene.blamed_after(2 * START_SECONDS)
    assert found is not None
    assert START_SECONDS < found[0] <= START_SECONDS + 2 * LOOK


def test_all_that_never_come_are_named_at_once() -> None:
    members = [MemberRecord(rank, identity=b"x" if rank == 1 else b"") for rank in range(4)]
    watch = Watchdog(members, PATIENCE, 0.0, 5.0, "call them")
    members[1].heard = 5.5
    assert [watch.look(now, {}, lambda rank: False) for now in (1.4, 2.8, 4.2, 5.0)] == [None] * 4
    text = "did not connect within 5 s of its start, nor did 2 and 3; call them"
    assert watch.look(5.5, {}, lambda rank: False) == FailureVerdict(0, text, absent=3)


def test_one_that_others_start_is_told_where_it_was_expected(tmp_path: Path) -> None:
    team = JoinTeam(2, Meeting("tcp://127.0.0.1:5555", wait=2.0), tmp_path)
    watch = Watchdog([MemberRecord(0)], PATIENCE, 0.0, team.start_seconds, team.absent_hint, team.absence)
    watch.looked = 3.5
    text = "expected to join tcp://127.0.0.1:5555 within 2 s (--wait), did not; run `netpart worker` on its host"
    found = watch.look(3.5, {}, lambda rank: False)
    assert found is not None
    assert found.text.startswith(text)


def test_places_in_words() -> None:
    assert describe_moment("train", 3, "forward conv1") == "train step 3, forward conv1"
    assert describe_moment("", 0, "compiling its plan") == "before step 0, compiling its plan"
    assert MemberRecord(0).last_moment() == "before step 0, starting"
