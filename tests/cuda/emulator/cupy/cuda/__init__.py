"""Streams, events, graphs and memory of the emulated device.

What is enqueued on a stream is done when somebody waits for it, and no sooner: a wait that is missing shows. And memory
knows which works of all streams, and of branches of graphs, come before each: what two do to it with nothing to order
them is an error, also if it happens to be done in the right order.
"""

from __future__ import annotations

import ctypes
import mmap
from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from importlib import import_module
from itertools import count
from random import Random
from threading import RLock, local
from typing import Any
from weakref import finalize

from cupy import ipc, memory, runtime
from cupy.runtime import CUDARuntimeError

HERE = local()
MemoryPointer: Any
NUMBERS = count(1)
LAUNCHES = count()
WORKING = RLock()
"""Held by whoever does what was enqueued: a thread may wait for what is on the stream of another."""
Work = Callable[[], None]
Known = dict[int, int]
"""By stream: how many of its works come before something."""
HOST: Known = {}
"""What hosts have waited for. What one enqueues comes behind it, whichever did: they tell each other in their ways."""


def join(known: Known, more: Known) -> None:
    """Adds what ``more`` knows to ``known``."""
    for stream, number in list(more.items()):
        known[stream] = max(number, known.get(stream, 0))


def waited_for(known: Known) -> None:
    """A host has waited for what is ``known``."""
    with WORKING:
        join(HOST, known)


def is_available() -> bool:
    return bool(runtime.getDeviceCount() > 0)


class Capture:
    """What is enqueued while the stream ``origin`` captures, by that and by ``streams`` that wait for its events: work,
    and for each the work that it comes after."""

    def __init__(self, origin: Stream) -> None:
        self.origin, self.streams = origin, [origin]
        self.work: list[Work] = []
        self.after: list[set[int]] = []

    def add(self, work: Work, after: set[int]) -> int:
        self.work.append(work)
        self.after.append(after)
        return len(self.work) - 1

    def take(self, stream: Stream) -> None:
        stream.capture, stream.front = self, set()
        self.streams.append(stream)

    def end(self) -> None:
        for stream in self.streams:
            stream.capture, stream.front = None, set()

    def behind(self, front: set[int]) -> set[int]:
        """All that comes before ``front``, and that."""
        found, still = set[int](), set(front)
        while still:
            found |= still
            still = set[int]().union(*(self.after[i] for i in still)) - found
        return found


def forget(stream: int) -> None:
    """Nobody can be beside a stream that is no more."""
    HOST.pop(stream, None)
    memory.forget(stream)


class Graph:
    """What was enqueued in a capture. What has no edge is done in another order in every launch: an edge that is
    missing shows."""

    def __init__(self, capture: Capture) -> None:
        self.work, self.after = capture.work, capture.after
        self.branches, self.branch = list[Stream](), list[int]()
        self.divide()

    def divide(self) -> None:
        """Finds each work's branch: that of one which it comes after and nothing else does yet, or a new one."""
        ends = list[int]()
        for i, after in enumerate(self.after):
            here = next((branch for branch, end in enumerate(ends) if end in after), len(ends))
            ends[here:] = [i, *ends[here + 1 :]]
            self.branch.append(here)
        self.branches = [Stream(non_blocking=True) for _ in ends]

    def launch(self, stream: Stream | None = None) -> None:
        stream, known = stream or get_current_stream(), [Known() for _ in self.work]
        stream.refuse_while_capturing("cudaGraphLaunch")
        _, before = stream.place()
        for i in self.order(next(LAUNCHES)):
            branch = self.branches[self.branch[i]]
            for each in (before, *(known[j] for j in self.after[i])):
                join(branch.known, each)
            number, known[i] = branch.place()
            stream.queue.append((self.work[i], branch.ptr, number, known[i]))
        for branch in self.branches:
            join(stream.known, branch.known)

    def order(self, seed: int) -> list[int]:
        """Of what may come next, now and then what was enqueued last, else anything."""
        draw, found = Random(seed), list[int]()
        keys = [-i if seed % 3 == 0 else draw.random() for i in range(len(self.work))]
        missing, before = list(map(len, self.after)), [list[int]() for _ in self.work]
        for i, after in enumerate(self.after):
            for j in after:
                before[j].append(i)
        ready = [(keys[i], i) for i, count in enumerate(missing) if not count]
        heapify(ready)
        while ready:
            found.append(heappop(ready)[1])
            for i in before[found[-1]]:
                missing[i] -= 1
                if not missing[i]:
                    heappush(ready, (keys[i], i))
        return found

    def upload(self, stream: Stream | None = None) -> None:
        pass


class Stream:
    """Work in order."""

    null: Stream

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int = 0) -> None:
        self.ptr, self.device_id = (0 if null else next(NUMBERS)), 0
        self.queue: deque[tuple[Work, int, int, Known]] = deque()
        self.number, self.known = 0, Known()
        self.capture: Capture | None = None
        self.front: set[int] = set()
        runtime.STREAMS[self.ptr] = self
        finalize(self, forget, self.ptr).atexit = False

    def place(self) -> tuple[int, Known]:
        """The number of its next work, and what comes before that."""
        join(self.known, HOST)
        self.number += 1
        self.known[self.ptr] = self.number
        self.known = {stream: number for stream, number in self.known.items() if stream in runtime.STREAMS}
        return self.number, dict(self.known)

    def begin(self) -> None:
        """What is done to memory from here on is its next work."""
        memory.begin(self.ptr, *self.place())

    def step(self) -> None:
        """Does the first work that is enqueued."""
        work, *place = self.queue.popleft()
        memory.begin(*place)
        try:
            work()
        except BaseException:  # what comes behind it is not done any more, on any stream
            for stream in list(runtime.STREAMS.values()):
                stream.queue.clear()
            raise

    def drain(self) -> None:
        """Does all that is enqueued. To those that enqueue more nothing has been said."""
        with WORKING:
            while self.queue:
                self.step()
            if not any(stream.queue for stream in list(runtime.STREAMS.values())):
                runtime.bury()

    def enqueue(self, work: Work) -> None:
        if self.capture is None:
            self.queue.append((work, self.ptr, *self.place()))
        else:
            self.front = {self.capture.add(work, self.front)}

    def use(self) -> Stream:
        HERE.stream = self
        return self

    def __enter__(self) -> Stream:
        entered().append(self)
        return self.use()

    def __exit__(self, *_: Any) -> None:
        """Goes back to the stream that was entered before, as CuPy does, and not to the one that was in use."""
        entered().pop()
        entered()[-1].use()

    @property
    def done(self) -> bool:
        return not self.queue

    def synchronize(self) -> None:
        self.refuse_while_capturing("cudaStreamSynchronize")
        self.drain()
        waited_for(self.known)

    def refuse_while_capturing(self, what: str) -> None:
        if self.capture is not None:
            raise CUDARuntimeError(f"{what}: operation not permitted when stream is capturing")

    def begin_capture(self, mode: int | None = None) -> None:
        if self.ptr == 0:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        self.refuse_while_capturing("cudaStreamBeginCapture")
        self.capture = Capture(self)

    def end_capture(self) -> Graph:
        found, front = self.capture, self.front
        if found is None:
            raise CUDARuntimeError("cudaStreamEndCapture: the stream is not capturing")
        if found.origin is not self:
            raise CUDARuntimeError("cudaErrorStreamCaptureUnmatched: the capture was not begun on this stream")
        found.end()
        if len(found.behind(front)) < len(found.work):
            raise CUDARuntimeError("cudaErrorStreamCaptureUnjoined: what another stream enqueued is not waited for")
        return Graph(found)

    def is_capturing(self) -> bool:
        return self.capture is not None

    def record(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """For what was recorded last before this call, whatever is recorded after it."""
        if event.captured is not None:
            return self.wait_captured(*event.captured)
        self.refuse_while_capturing("cudaErrorStreamCaptureIsolation: cudaStreamWaitEvent for what is not captured")
        mark = event.waited
        join(self.known, event.known)
        self.enqueue(lambda: reach(mark))

    def wait_captured(self, capture: Capture, front: set[int]) -> None:
        """The stream captures as well from now on."""
        if capture.origin.capture is not capture:
            raise CUDARuntimeError(
                "cudaErrorCapturedEvent: cudaStreamWaitEvent for an event of a capture that has ended"
            )
        if self.capture is None:
            capture.take(self)
        if self.capture is not capture:
            raise CUDARuntimeError("cudaErrorStreamCaptureMerge: cudaStreamWaitEvent for an event of another capture")
        self.front = self.front | front


class ExternalStream(Stream):
    """A stream that somebody else has made."""

    def __new__(cls, ptr: int, device_id: int = -1) -> Any:
        return runtime.STREAMS[ptr]


Stream.null = Stream(null=True)


def entered() -> list[Stream]:
    """The streams that this thread has entered, the default one first."""
    found: list[Stream] = HERE.__dict__.setdefault("entered", [Stream.null])
    return found


class Event:
    """A place in the work of a stream."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        if interprocess and not disable_timing:
            raise ValueError("Timing must be disabled for interprocess events")
        self.ptr, self.interprocess = next(NUMBERS), interprocess
        self.waited: list[Any] = [True, None]
        self.known = Known()
        self.captured: tuple[Capture, set[int]] | None = None
        ipc.EVENTS[self.ptr] = self

    def record(self, stream: Stream | None = None) -> None:
        stream = stream or get_current_stream()
        self.captured = None if stream.capture is None else (stream.capture, stream.front)
        if self.captured is not None:
            return
        self.waited = mark = [False, stream]

        def reached() -> None:
            mark[0] = True

        stream.enqueue(reached)
        self.known = dict(stream.known)
        if self.interprocess and not ipc.ALONE[0]:
            stream.synchronize()

    @property
    def done(self) -> bool:
        """Whoever asks lets the device get there."""
        self.synchronize()
        return True

    def synchronize(self) -> None:
        if self.captured is not None:
            raise CUDARuntimeError("cudaErrorCapturedEvent: operation not permitted on an event of a capture")
        reach(self.waited)
        waited_for(self.known)


def reach(mark: list[Any]) -> None:
    """Does the work of a stream as far as a record."""
    with WORKING:
        while not mark[0] and mark[1].queue:
            mark[1].refuse_while_capturing("cudaEventSynchronize")
            mark[1].step()


def get_elapsed_time(start: Event, end: Event) -> float:
    return 0.0


def get_current_stream(device_id: int = -1) -> Stream:
    found: Stream = getattr(HERE, "stream", Stream.null)
    return found


class Device:
    """A device by its number; without one, the current one."""

    def __init__(self, device: int | None = None) -> None:
        self.id = runtime.getDevice() if device is None else device

    def use(self) -> None:
        runtime.setDevice(self.id)

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def synchronize(self) -> None:
        runtime.deviceSynchronize()

    @property
    def mem_info(self) -> Any:
        return runtime.memGetInfo()


class UnownedMemory:
    """Memory of the device that CuPy did not allocate."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr = ptr
        self.size = size
        self.owner = owner
        self.device_id = device_id


class PinnedMemoryPointer(mmap.mmap):
    """Memory of the host that the device may read while others work."""

    ptr: int

    def __new__(cls, size: int) -> PinnedMemoryPointer:
        found = mmap.mmap.__new__(cls, -1, max(1, size))
        found.ptr = ctypes.addressof(ctypes.c_ubyte.from_buffer(found))
        runtime.PINNED[found.ptr] = found
        return found


def alloc_pinned_memory(size: int) -> PinnedMemoryPointer:
    get_current_stream().refuse_while_capturing("cudaHostAlloc")
    return PinnedMemoryPointer(size)


def __getattr__(name: str) -> Any:
    """Libraries, loaded when they are first mentioned."""
    if name != "cublas":
        raise AttributeError(name)
    return import_module("cupy.cublas")
