"""StepLooks: all workers of a group trace the same step, seldom enough, and what they answer is checked."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest

from netpart.launch.control.framing import GarbledMessage
from netpart.launch.coordinator import step_looks
from netpart.launch.coordinator.step_looks import (
    ACTION_SECONDS,
    ANSWER_SECONDS,
    PATIENCE_SECONDS,
    REST_SECONDS,
    SHARE,
    StepLooks,
)
from netpart.launch.coordinator.watchdog import MemberRecord
from netpart.launch.report.watch_events import SampledAction, StepSampled
from netpart.proto.control_pb2 import BeatProto, ControlProto, TracedProto, TraceProto


class Rehearsal:
    """Two workers in step 10, and what they are asked for."""

    def __init__(self) -> None:
        self.members = [MemberRecord(rank, beat=BeatProto(phase="train", step=10 + rank)) for rank in range(2)]
        self.asked: list[tuple[int, int]] = []
        self.heard: list[StepSampled] = []
        self.looks = StepLooks(
            3, self.members, self.send, self.heard.append, lambda key: (f"edge {key[1:]}", 1 - key[0])
        )

    def send(self, member: MemberRecord, message: ControlProto) -> None:
        self.asked.append((member.rank, message.look.step))

    def answer(self, rank: int, step: int, now: float, actions: int = 1) -> None:
        self.looks.take(self.members[rank], trace_of(step, actions), now)


def trace_of(step: int, actions: int = 1, **changes: Any) -> TraceProto:
    trace = TraceProto(step=step, what=[TracedProto(name="forward a")], resident_bytes=500, **changes)
    for number in range(actions):
        trace.index.append(0)
        trace.start.append(number)
        trace.end.append(number + 0.5)
    return trace


def test_all_are_asked_for_a_step_that_none_has_begun() -> None:
    run = Rehearsal()
    run.looks.look(0.0)
    assert run.asked == [(0, 13), (1, 13)]
    run.looks.look(5.0)
    assert len(run.asked) == 2, "one request at a time"


def test_quick_steps_are_asked_for_further_ahead() -> None:
    run = Rehearsal()
    run.looks.look(0.0)
    run.answer(0, 13, 0.1)
    run.answer(1, 13, 0.1)
    for member in run.members:
        member.beat.step = 2010
    run.looks.look(4.0)
    assert run.asked[-1] == (1, 2010 + 2 + 250), "500 steps a second: those of half a second"


def test_the_step_is_passed_on_when_all_have_answered() -> None:
    run = Rehearsal()
    run.looks.look(0.0)
    trace = trace_of(13, grown_bytes=200)
    trace.sent.add(channel=[4, 5], bytes=64)
    trace.sent.add(channel=[6], bytes=0)
    run.looks.take(run.members[1], trace, 0.2)
    assert run.heard == []
    run.answer(0, 13, 0.3)
    (step,) = run.heard
    assert (step.group, step.step, [each.rank for each in step.workers]) == (3, 13, [0, 1])
    worker = step.workers[1]
    assert worker.actions == (SampledAction("forward a", 0.0, 0.5),)
    assert (worker.sent, worker.sent_to, worker.resident, worker.grown) == ({"edge (4, 5)": 64}, {0: 64}, 500, 200)
    assert step.workers[0].grown is None


def test_traces_take_a_bounded_share_of_a_run() -> None:
    run = Rehearsal()
    run.looks.look(0.0)
    for rank in range(2):
        run.answer(rank, 13, 1.0, actions=500)
    rest = (ANSWER_SECONDS + 1000 * ACTION_SECONDS) / SHARE
    run.looks.look(1.0 + 0.99 * rest)
    assert len(run.asked) == 2
    run.looks.look(1.0 + 1.01 * rest)
    assert len(run.asked) == 4


def test_different_steps_are_dropped_and_the_next_is_further_ahead() -> None:
    run = Rehearsal()
    run.looks.look(0.0)
    run.answer(0, 13, 0.1)
    run.answer(1, 14, 0.1)
    assert run.heard == []
    run.looks.look(REST_SECONDS + 1)
    assert run.asked[-1][1] >= 11 + 4


def test_a_request_without_all_answers_is_forgotten() -> None:
    run = Rehearsal()
    run.looks.look(0.0)
    run.answer(0, 13, 0.1)
    run.looks.look(PATIENCE_SECONDS + 1)
    run.answer(1, 13, PATIENCE_SECONDS + 1)
    assert run.heard == []
    run.looks.look(PATIENCE_SECONDS + REST_SECONDS + 3)
    assert len(run.asked) == 4


def test_a_worker_that_does_not_train_is_not_asked() -> None:
    run = Rehearsal()
    run.members[0].beat.phase = "test"
    run.looks.look(0.0)
    assert run.asked == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda t: t.end.pop(),
        lambda t: t.index.append(7),
        lambda t: t.start.__setitem__(0, nan),
        lambda t: t.ClearField("what"),
    ],
)
def test_answers_that_cannot_be_meant_are_refused(spoil: Any) -> None:
    run = Rehearsal()
    run.looks.look(0.0)
    run.answer(0, 13, 0.1)
    trace = trace_of(13)
    spoil(trace)
    with pytest.raises(GarbledMessage, match="trace"):
        run.looks.take(run.members[1], trace, 0.2)


def test_too_many_actions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_looks, "MOST_ACTIONS", 3)
    run = Rehearsal()
    run.looks.look(0.0)
    run.answer(0, 13, 0.1)
    with pytest.raises(GarbledMessage, match="at most 3 actions"):
        run.answer(1, 13, 0.2, actions=4)
