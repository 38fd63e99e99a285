"""All workers stop before the same step, whenever they hear of it and however far each has come."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.launch.coordinator.conversation import Conversation
from netpart.launch.coordinator.halt_book import HaltBook
from netpart.launch.coordinator.watchdog import MemberRecord
from netpart.launch.member.halt_agreement import HaltAgreement
from netpart.launch.report.events import Halted
from netpart.proto.control_pb2 import ControlProto, HaltProto


@dataclass
class Control:
    """A worker's connection: ``inbox`` is what the coordinator has sent, ``outbox`` what it has not read yet."""

    rank: int
    inbox: deque[ControlProto] = field(default_factory=deque)
    outbox: deque[ControlProto] = field(default_factory=deque)
    heed_halt: Any = None

    def send(self, message: ControlProto) -> None:
        self.outbox.append(message)

    def check(self) -> None:
        while self.inbox:
            self.heed_halt(self.inbox.popleft().halt)


class Waits(Exception):
    """A worker waits for a message that is not there yet."""


@dataclass
class Worker:
    """A worker that is before ``step``, or in the middle of it if ``inside``; it drains its stages in ``drained``."""

    control: Control
    end: int
    step: int = 0
    inside: bool = False
    over: bool = False
    drained: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.halting = HaltAgreement(self.control, lambda: None)  # type: ignore[arg-type]
        self.control.receive = self.receive  # type: ignore[attr-defined]

    def receive(self, kind: str) -> None:
        if not self.control.inbox:
            raise Waits
        self.control.heed_halt(self.control.inbox.popleft().halt)

    def move(self, slowest: int, arrived: bool) -> None:
        """Go on as far as one event; a step ends when all have begun it, as its messages are then there.

        ``arrived``: what the coordinator has sent is there.
        """
        if self.inside:
            if arrived:
                self.control.check()
            if slowest >= self.step:
                self.inside, self.step = False, self.step + 1
            return
        with suppress(Waits):
            self.over = self.step == self.end or self.halting.ends_before(self.step)
            if self.over:
                self.halting.reached = self.end + 1
                self.control.check()
                return
            self.drained += [self.step] if self.halting.begin(self.step) else []
            self.inside = True


def begun(worker: Worker) -> int:
    """The latest step that a worker has begun; past the last one when it is over."""
    return worker.end if worker.over else worker.step - (not worker.inside)


@given(st.data(), st.integers(1, 4), st.integers(0, 40), st.integers(1, 30))
def test_all_stop_before_the_same_step_or_none(data: st.DataObject, count: int, asked: int, end: int) -> None:
    members = [MemberRecord(rank) for rank in range(count)]
    workers = [Worker(Control(rank), end) for rank in range(count)]
    events = list[Any]()

    def send(member: MemberRecord, message: ControlProto) -> None:
        workers[member.rank].control.inbox.append(message)

    book = HaltBook(members, end, send, events.append)
    turns = 0
    while not all(worker.over for worker in workers):
        turns += 1
        assert turns < 3000, "it does not end"
        number = data.draw(st.integers(-1, count - 1)) if turns < 300 else turns % (count + 1) - 1
        if turns > asked:
            book.request()
        if number >= 0:
            workers[number].move(min(map(begun, workers)), turns > 300 or data.draw(st.booleans()))
            continue
        for member, worker in zip(members, workers, strict=True):
            member.beat.phase, member.beat.step = "train", worker.step
        book.look()
        for member, worker in zip(members, workers, strict=True):
            while worker.control.outbox:
                book.hear(member, worker.control.outbox.popleft().halt)
    ends = {worker.step for worker in workers}
    assert len(ends) == 1
    assert all(worker.drained == workers[0].drained for worker in workers)
    assert [event.step for event in events if isinstance(event, Halted)] == [step for step in ends if step < end]


def test_nothing_is_proposed_before_all_train() -> None:
    members, sent = [MemberRecord(0), MemberRecord(1)], list[Any]()
    book = HaltBook(members, 9, lambda member, message: sent.append(message), sent.append)
    book.request()
    members[0].beat.phase = "train"
    book.look()
    assert sent == []
    members[1].beat.phase = "train"
    book.look()
    book.look()
    assert [message.halt.step for message in sent] == [2, 2]


@pytest.mark.parametrize(("stopped", "halts"), [(None, 1), ("early_stop", 0)])
def test_a_run_that_a_verdict_has_stopped_is_not_one_that_was_asked_to_end(stopped: str | None, halts: int) -> None:
    """It would end with the exit code of a run that is to be resumed, and be summed up with steps that it has not."""
    member, sent, events = MemberRecord(0), list[Any](), list[Any]()
    member.beat.phase = "test"
    talk = Conversation.__new__(Conversation)
    talk.verdicts = SimpleNamespace(stopped=stopped)  # type: ignore[assignment]
    talk.halting = HaltBook([member], 9, lambda member, message: sent.append(message.halt), events.append)
    talk.halting.request()
    talk.halting.look()
    talk.on_halt(member, HaltProto(step=sent[0].step, reached=1))
    assert len(events) == halts
