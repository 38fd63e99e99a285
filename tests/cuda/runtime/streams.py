"""Streams, events and graphs of the device: nothing that is enqueued is done before somebody waits for it, so a wait
that is missing shows."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from itertools import count
from threading import RLock, local
from time import perf_counter
from typing import Any

from tests.cuda.runtime.errors import (
    CAPTURED_EVENT,
    ILLEGAL_STATE,
    INVALID_DEVICE,
    INVALID_HANDLE,
    ISOLATION,
    NOT_READY,
    UNJOINED,
    UNSUPPORTED,
    Refused,
)

Work = Callable[[], object]
HANDLES = count(0x10000, 16)
LEGACY = 0
DISABLE_TIMING, INTERPROCESS = 2, 4
NON_BLOCKING = 1
LOCK = RLock()
"""Held by whoever calls or works: a thread may wait for what is on the stream of another."""
HERE = local()
FAILED: list[Exception] = []
"""Why work failed: from then on, every call fails."""


def device() -> int:
    """The current device of this thread."""
    return int(getattr(HERE, "device", 0))


def devices() -> int:
    """How many there are."""
    return int(os.environ.get("EMULATED_GPUS", "1"))


def use(number: int) -> None:
    if not 0 <= number < devices():
        raise Refused(INVALID_DEVICE, f"device {number} of {devices()}")
    HERE.device = number


class Capture:
    """What a stream, its ``origin``, and those that wait for its events enqueue from then on: by stream, how many works
    it ``told``, and how many of each are ``known`` to come before its next one."""

    def __init__(self, origin: Stream) -> None:
        self.origin = origin
        self.work = list[Work]()
        self.over = False
        self.told: dict[Stream, int] = {}
        self.known: dict[Stream, dict[Stream, int]] = {origin: {}}

    def add(self, stream: Stream, work: Work) -> None:
        self.work.append(work)
        self.told[stream] = self.known[stream][stream] = self.told.get(stream, 0) + 1

    def join(self, stream: Stream, known: dict[Stream, int]) -> None:
        """What is ``known`` comes before the next work of a stream, which captures as well from now on."""
        stream.captured, mine = self, self.known.setdefault(stream, {})
        mine.update({other: max(n, mine.get(other, 0)) for other, n in known.items()})

    def end(self) -> list[Work]:
        """All work, in an order that keeps to its edges. Raises Refused unless the origin waits for all of it."""
        self.over, wrong = True, [stream.invalid for stream in self.known if stream.invalid]
        for stream in self.known:
            stream.captured = None
        if wrong:
            raise Refused(UNJOINED, f"the capture was invalidated by {wrong[0]}")
        if self.known[self.origin] != self.told:
            raise Refused(UNJOINED, "nobody waits for what another stream was told while it captured")
        return self.work


class Mark:
    """A place in the work of a stream; ``at``: when it was reached, in seconds; ``captured``: by what, and what comes
    before it there."""

    def __init__(self, stream: Stream | None = None) -> None:
        self.stream, self.at = stream, None if stream else 0.0
        self.captured: tuple[Capture, dict[Stream, int]] | None = None

    def reached(self) -> None:
        self.at = perf_counter()

    def reach(self) -> None:
        """Does the work of the stream as far as here."""
        while self.at is None:
            assert self.stream is not None
            self.stream.work()


class Event:
    """What marks are recorded in. One of another process was reached before anybody here could hear of it."""

    def __init__(self, flags: int) -> None:
        self.flags = flags
        self.device = device()
        self.mark = Mark()

    def known(self) -> Mark:
        if self.mark.captured is not None:
            raise Refused(CAPTURED_EVENT, "an event that was recorded while a stream captured")
        return self.mark


class Stream:
    """Work in order. ``captured`` is what is not to be done but kept."""

    def __init__(self, flags: int) -> None:
        self.flags, self.device = flags, device()
        self.queue: deque[Work] = deque()
        self.captured: Capture | None = None
        self.invalid = ""

    def enqueue(self, work: Work) -> None:
        if self.captured is not None:
            self.captured.add(self, work)
            return
        if self is legacy():
            self.queue += [other.mark().reach for other in blocking()]
        elif not self.flags & NON_BLOCKING and legacy().queue:
            self.queue.append(legacy().mark().reach)
        self.queue.append(work)

    def mark(self) -> Mark:
        """A mark behind all that was enqueued."""
        found = Mark(self)
        self.queue.append(found.reached)
        return found

    def work(self) -> None:
        """Does the next piece."""
        work = self.queue.popleft()
        try:
            work()
        except Refused:
            raise
        except Exception as error:
            FAILED.append(error)
            raise

    def synchronize(self, what: str = "cudaStreamSynchronize") -> None:
        self.refuse_while_capturing(what)
        while self.queue:
            self.work()

    def refuse_while_capturing(self, what: str) -> None:
        if self.captured is not None:
            self.invalid = what
            raise Refused(UNSUPPORTED, f"{what} of a stream that is capturing")

    def begin(self) -> None:
        if self is legacy() or self.captured is not None:
            raise Refused(ILLEGAL_STATE if self.captured is not None else UNSUPPORTED, "cannot begin a capture here")
        self.captured, self.invalid = Capture(self), ""

    def end(self) -> list[Work]:
        if self.captured is None or self.captured.origin is not self:
            raise Refused(ILLEGAL_STATE, "no capture was begun on the stream")
        return self.captured.end()

    def record(self, event: Event) -> None:
        if event.device != self.device:
            raise Refused(INVALID_HANDLE, f"an event of device {event.device} on a stream of {self.device}")
        event.mark = mark = Mark(self)
        if self.captured is not None:
            mark.captured = self.captured, dict(self.captured.known[self])
        else:
            self.enqueue(mark.reached)
        if event.flags & INTERPROCESS:  # nobody in another process can drive this stream
            self.refuse_while_capturing("a record of an event of several processes")
            mark.reach()

    def wait(self, event: Event) -> None:
        """For what was recorded last before this call, whatever is recorded after it."""
        mark = event.mark
        if mark.captured is not None:
            self.wait_captured(*mark.captured)
        elif self.captured is not None and mark.stream is not None:
            self.invalid = "a wait for an event from beyond the capture"
            raise Refused(ISOLATION, self.invalid)
        else:
            self.enqueue(mark.reach)

    def wait_captured(self, capture: Capture, known: dict[Stream, int]) -> None:
        if capture.over or self.captured not in (None, capture):
            self.invalid = "a wait for an event of another capture"
            raise Refused(CAPTURED_EVENT if capture.over else ISOLATION, self.invalid)
        capture.join(self, known)


class Graph:
    """What a stream captured."""

    def __init__(self, work: list[Work]) -> None:
        self.work = work

    def launch(self, stream: Stream) -> None:
        for work in self.work:
            stream.enqueue(work)


OBJECTS: dict[int, Any] = {}
"""Streams, events, graphs, modules and functions by their handles."""
LEGACIES: dict[int, Stream] = {}


def legacy() -> Stream:
    """The default stream of the current device."""
    if device() not in LEGACIES:
        LEGACIES[device()] = Stream(0)
    return LEGACIES[device()]


def streams() -> list[Stream]:
    return [*LEGACIES.values(), *(found for found in list(OBJECTS.values()) if isinstance(found, Stream))]


def blocking() -> list[Stream]:
    """Those that the default stream waits for."""
    return [
        s for s in streams() if s.queue and s.device == device() and s is not legacy() and not s.flags & NON_BLOCKING
    ]


def made(value: Any) -> int:
    """A handle for something new."""
    handle = next(HANDLES)
    OBJECTS[handle] = value
    return handle


def found(kind: Any, handle: int | None) -> Any:
    """What has this handle. Raises Refused if nothing has, or something else."""
    if kind is Stream and handle in (None, 0, 1):
        return legacy()
    value = OBJECTS.get(handle or 0)
    if not isinstance(value, kind):
        raise Refused(INVALID_HANDLE, f"{handle} is no {kind.__name__}")
    return value


def capturing() -> list[Stream]:
    return [stream for stream in streams() if stream.captured is not None]


def synchronize_device() -> None:
    for stream in streams():
        if stream.device == device():
            stream.synchronize("cudaDeviceSynchronize")


def query(mark: Mark) -> None:
    """Who looks lets the device do one piece. Raises Refused if the mark is not reached yet."""
    if mark.at is None:
        assert mark.stream is not None
        mark.stream.work()
    if mark.at is None:
        raise Refused(NOT_READY, "")
