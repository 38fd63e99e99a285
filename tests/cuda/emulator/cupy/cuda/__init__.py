"""Streams, events, graphs and memory of the emulated device.

What is enqueued on a stream is done when somebody waits for it, and no sooner: a wait that is missing shows.
"""

from __future__ import annotations

import ctypes
import mmap
from collections import deque
from collections.abc import Callable
from importlib import import_module
from itertools import count
from threading import RLock, local
from typing import Any

from cupy import ipc, runtime
from cupy.runtime import CUDARuntimeError

HERE = local()
MemoryPointer: Any
NUMBERS = count(1)
WORKING = RLock()
"""Held by whoever does what was enqueued: a thread may wait for what is on the stream of another."""
Work = Callable[[], None]


def is_available() -> bool:
    return bool(runtime.getDeviceCount() > 0)


class Graph:
    """What was enqueued while a stream captured."""

    def __init__(self, work: list[Work]) -> None:
        self.work = work

    def launch(self, stream: Stream | None = None) -> None:
        for work in self.work:
            (stream or get_current_stream()).enqueue(work)

    def upload(self, stream: Stream | None = None) -> None:
        pass


class Stream:
    """Work in order."""

    null: Stream

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int = 0) -> None:
        self.ptr, self.device_id = (0 if null else next(NUMBERS)), 0
        self.queue: deque[Work] = deque()
        self.captured: list[Work] | None = None
        runtime.STREAMS[self.ptr] = self

    def enqueue(self, work: Work) -> None:
        (self.queue if self.captured is None else self.captured).append(work)

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
        with WORKING:
            while self.queue:
                self.queue.popleft()()
            if not any(stream.queue for stream in list(runtime.STREAMS.values())):
                runtime.GRAVES.clear()

    def refuse_while_capturing(self, what: str) -> None:
        if self.captured is not None:
            raise CUDARuntimeError(f"{what}: operation not permitted when stream is capturing")

    def begin_capture(self, mode: int | None = None) -> None:
        if self.ptr == 0:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        self.refuse_while_capturing("cudaStreamBeginCapture")
        self.captured = []

    def end_capture(self) -> Graph:
        if self.captured is None:
            raise CUDARuntimeError("cudaStreamEndCapture: the stream is not capturing")
        found, self.captured = Graph(self.captured), None
        return found

    def is_capturing(self) -> bool:
        return self.captured is not None

    def record(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """For what was recorded last before this call, whatever is recorded after it."""
        mark = event.waited
        self.enqueue(lambda: reach(mark))


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
        ipc.EVENTS[self.ptr] = self

    def record(self, stream: Stream | None = None) -> None:
        stream = stream or get_current_stream()
        self.waited = mark = [False, stream]

        def reached() -> None:
            mark[0] = True

        stream.enqueue(reached)
        if self.interprocess and not ipc.ALONE[0]:
            stream.synchronize()

    @property
    def done(self) -> bool:
        """Whoever asks lets the device get there."""
        reach(self.waited)
        return True

    def synchronize(self) -> None:
        reach(self.waited)


def reach(mark: list[Any]) -> None:
    """Does the work of a stream as far as a record."""
    with WORKING:
        while not mark[0]:
            mark[1].refuse_while_capturing("cudaEventSynchronize")
            mark[1].queue.popleft()()


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
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id


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
