"""Listeners on threads of their own: a slow one, a broken one and one that hangs cost the run nothing but a notice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Event as Signal
from threading import current_thread
from typing import cast

import pytest

from netpart.errors import ConfigError
from netpart.families import LISTENERS
from netpart.graph.partition import Partition
from netpart.launch.report.events import Ended, Event, Listener, ListenerMaker, Noticed
from netpart.launch.report.queued_listener import QueuedListener, RunFailed
from netpart.launch.report.run_description import RunDescription
from netpart.launch.run import run_job
from netpart.proto.reader import read_job
from tests.end2end.running import mlp

EVENTS = [Noticed(str(number)) for number in range(5)]


class Rehearsal:
    """A listener that keeps what it hears, waits for ``go`` before each event, and fails at the event ``broken``."""

    def __init__(self, broken: object = None) -> None:
        self.heard: list[Event] = []
        self.said: list[str] = []
        self.threads = set[str]()
        self.ended_by: BaseException | None = None
        self.closed = False
        self.broken = broken
        self.taken, self.go = Signal(), Signal()

    @contextmanager
    def opened(self, run: RunDescription) -> Iterator[Listener]:
        self.threads.add(current_thread().name)
        try:
            yield self.hear
        except RunFailed as error:
            self.ended_by = error
            raise
        finally:
            self.threads.add(current_thread().name)
            self.closed = True

    def hear(self, event: Event) -> None:
        self.threads.add(current_thread().name)
        self.taken.set()
        assert self.go.wait(20)
        if self.broken == event:
            raise OSError("no network")
        self.heard.append(event)


def queued(maker: ListenerMaker, said: list[str], room: int = 100, patience: float = 20.0) -> QueuedListener:
    run = RunDescription(cast(Partition, None), Path("out"))
    return QueuedListener("far", maker, run, said.append, room, patience)


def test_a_listener_hears_all_in_order_on_one_thread_and_is_closed() -> None:
    far = Rehearsal()
    with queued(far.opened, far.said) as hear:
        for event in EVENTS:
            hear(event)  # returns although the listener waits
        far.go.set()
    assert far.heard == EVENTS
    assert far.threads == {"listener far"}
    assert far.closed
    assert far.said == []


def test_what_finds_no_room_is_dropped_and_counted() -> None:
    far = Rehearsal()
    with queued(far.opened, far.said, room=2) as hear:
        hear(EVENTS[0])
        assert far.taken.wait(20)  # the first is with the listener, so two more have room
        for event in EVENTS[1:]:
            hear(event)
        assert far.said == ["listener far is slow: 2 events wait, further ones are dropped"]
        far.go.set()
    assert far.heard == EVENTS[:3]
    assert far.said[1:] == ["listener far was slow: 2 events dropped"]


def test_a_listener_that_fails_is_reported_once_and_dropped() -> None:
    far = Rehearsal(broken=EVENTS[1])
    far.go.set()
    mine = queued(far.opened, far.said)
    with mine as hear:
        hear(EVENTS[0])
        hear(EVENTS[1])
        mine.thread.join(20)
        hear(EVENTS[2])
        hear(EVENTS[3])
    assert far.heard == EVENTS[:1]
    assert far.said == ["listener far failed and was dropped; the run goes on without it: OSError('no network')"]


def test_a_failure_while_it_closes_is_reported_too() -> None:
    @contextmanager
    def careless(run: RunDescription) -> Iterator[Listener]:
        yield lambda _: None
        raise OSError("quota")

    said: list[str] = []
    with queued(careless, said):
        pass
    assert said == ["listener far failed and was dropped; the run goes on without it: OSError('quota')"]


def test_a_listener_that_hangs_is_left() -> None:
    far = Rehearsal()
    with queued(far.opened, far.said, patience=0.01) as hear:
        hear(EVENTS[0])
    assert far.said == ["listener far did not end within 0.01 s, and was left"]
    far.go.set()


def test_a_listener_learns_that_its_run_failed() -> None:
    far = Rehearsal()
    with pytest.raises(ValueError, match="worker 1"), queued(far.opened, far.said):
        raise ValueError("worker 1")
    assert str(far.ended_by) == "worker 1"
    assert far.closed
    assert far.said == []


def test_a_listener_that_cannot_be_opened_is_an_error_before_the_run() -> None:
    def missing(run: RunDescription) -> AbstractContextManager[Listener]:
        raise ImportError("no_such_logger")

    with pytest.raises(ConfigError, match=r"--listener far: .* ImportError: no_such_logger"), queued(missing, []):
        pytest.fail("the run has begun")


def test_a_run_goes_on_without_a_listener_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = Rehearsal(broken=AnyEvent())
    far.go.set()
    monkeypatch.setitem(LISTENERS._known, "far", far.opened)
    heard: list[Event] = []
    run_job(
        read_job(mlp(tmp_path)), 2, launcher="threads", workspace=tmp_path / "run", listener=heard.append,
        listeners=["far=somewhere"],
    )  # fmt: skip
    notices = [event.text for event in heard if isinstance(event, Noticed)]
    assert notices == ["listener far failed and was dropped; the run goes on without it: OSError('no network')"]
    assert isinstance(heard[-1], Ended | Noticed)
    assert any(isinstance(event, Ended) for event in heard)


class AnyEvent:
    """Equal to every event."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]  # nothing looks it up
