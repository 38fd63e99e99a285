"""Mailbox: compares every arrival with its promise and hands the messages out in order, for every transport.

sender or receiving thread                         worker
accepts(header) -> put(header, array) -> waiting -> take(channel, step)
        |                                              |
        +-- a broken promise is recorded by fail ------+--> raised here, and by news
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import prod
from threading import Condition, RLock
from typing import Any

import numpy as np

from netpart.errors import TransportError
from netpart.spec import Shape
from netpart.transport.frames import Array, Channel, FrameHeader, check_frame_tensor, format_channel

WINDOW = 2
"""Messages that may wait on one channel: with one message per step, the steps by which a sender may be ahead."""


@dataclass
class _ExpectedStream:
    """The promise of a channel and the messages that wait there; ``newest`` is the step of the last arrival."""

    peer: int
    shape: Shape
    dtype: np.dtype[Any]
    ahead: int
    waiting: deque[tuple[int, Array]] = field(default_factory=deque)
    newest: int = -1

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    @property
    def promised(self) -> tuple[int, Shape, np.dtype[Any]]:
        return self.peer, self.shape, self.dtype

    def add(self, step: int, array: Array) -> None:
        self.waiting.append((step, array))
        self.newest = step

    def __str__(self) -> str:
        return f"{self.dtype} {self.shape} from rank {self.peer}"


class Mailbox:
    """The arrivals of one rank. ``arrivals`` counts them; the first error is kept and raised from then on.

    ``limit`` is the largest payload in bytes that the transport can receive, None for no limit.
    """

    def __init__(self, rank: int) -> None:
        self.rank, self.arrivals = rank, 0
        self.limit: int | None = None
        self._streams: dict[Channel, _ExpectedStream] = {}
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self._seen, self._error = 0, ""

    @property
    def largest(self) -> int:
        """Bytes of the largest payload promised so far."""
        return max((stream.nbytes for stream in self._streams.values()), default=0)

    @property
    def ahead(self) -> int:
        """Messages that may wait on all channels together."""
        return sum(stream.ahead for stream in self._streams.values())

    @property
    def peers(self) -> list[int]:
        """The ranks of which something was promised, in ascending order."""
        return sorted({stream.peer for stream in self._streams.values()})

    def matching_ahead(self, header: FrameHeader) -> int:
        """How many messages of its channel may be in flight, if ``header`` is as promised but for its step; else 0."""
        stream = self._streams.get(header.channel)
        matches = stream is not None and (header.source, header.shape, header.dtype) == stream.promised
        return stream.ahead if stream is not None and matches else 0

    def expect(self, channel: Channel, peer: int, shape: Shape, dtype: np.dtype[Any], ahead: int = WINDOW) -> None:
        """Promise that ``channel`` brings ``dtype`` arrays of ``shape`` from rank ``peer``, one per step.

        At most ``ahead`` of them may wait to be taken. Raises TransportError if no frame can carry them or another
        promise was made before.
        """
        check_frame_tensor(channel, dtype, shape)
        stream = _ExpectedStream(peer, shape, dtype, ahead)
        if self.limit is not None and stream.nbytes > self.limit:
            raise TransportError(
                f"rank {self.rank}, {format_channel(channel)}: expected at most {self.limit} bytes, got {stream}; "
                "call expect before bind, or pass largest"
            )
        with self._lock:
            known = self._streams.setdefault(channel, stream)
        # The texts omit ``ahead`` and what waits: the same promise may be made again.
        if str(known) != str(stream):
            raise TransportError(
                f"rank {self.rank}, {format_channel(channel)}: expected one promise, {known}, got {stream}; "
                "expect a channel with one shape and dtype"
            )

    def accepts(self, header: FrameHeader) -> bool:
        """True if the message matches its promise; if not, the error is recorded and the message must be dropped."""
        with self._lock:
            mistake = "" if self._error else self._mistake(header)
        if mistake:
            self.fail(f"rank {self.rank}, {header}: {mistake}")
        return not self._error

    def _mistake(self, header: FrameHeader) -> str:
        stream = self._streams.get(header.channel)
        if stream is None:
            return "expected nothing on this channel; all workers must play programs of one plan"
        if (header.source, header.shape, header.dtype) != stream.promised:
            return f"expected {stream}; all workers must play programs of one plan"
        if header.step <= stream.newest:
            return f"expected a step after {stream.newest}, which came already"
        if len(stream.waiting) >= stream.ahead:
            waiting = [step for step, _ in stream.waiting]
            many = f"{stream.ahead} messages ahead, but steps {waiting} wait"
            return f"expected at most {many}; senders must await receivers"
        return ""

    def put(self, header: FrameHeader, array: Array) -> None:
        """Add a message that ``accepts`` has accepted and wake the thread that waits."""
        with self._lock:
            self._streams[header.channel].add(header.step, array)
            self.arrivals += 1
            self._changed.notify_all()

    def admit(self, channel: Channel, step: int, array: Array) -> bool:
        """Add a message of which only the step is unchecked; False if it is a mistake, which ``accepts`` then records.

        For transports whose worker's thread both adds and takes.
        """
        # No lock and no notification: a single thread adds and takes.
        stream = self._streams[channel]
        if self._error or step <= stream.newest or len(stream.waiting) >= stream.ahead:
            return False
        stream.add(step, array)
        self.arrivals += 1
        return True

    def fail(self, error: str) -> None:
        """Record an error, if it is the first, and wake the thread that waits."""
        with self._lock:
            self._error = self._error or error
            self._changed.notify_all()

    def close(self) -> None:
        """Make every later use of the transport raise TransportError."""
        self.fail(f"rank {self.rank}: expected an open transport, got a closed one")

    def check(self) -> None:
        """Raise the recorded error, if there is one."""
        if self._error:
            raise TransportError(self._error)

    def take(self, channel: Channel, step: int) -> Array | None:
        """Remove and return the message of ``step``; None if it has not arrived.

        Raises TransportError if it cannot arrive any more, nothing was promised, or an error was recorded.
        """
        with self._lock:
            self.check()
            stream = self._streams.get(channel)
            if stream is None:
                raise TransportError(
                    f"rank {self.rank}, {format_channel(channel)}: expected a promise before a receive, got none; "
                    "call expect first"
                )
            if not stream.waiting and step > stream.newest:
                return None
            if stream.waiting and stream.waiting[0][0] == step:
                return stream.waiting.popleft()[1]
        who = f"rank {self.rank}, {format_channel(channel)}"
        self.fail(f"{who}: expected step {step} from rank {stream.peer}, got {_describe_arrival(stream)}")
        raise TransportError(self._error)

    def listen(self, seconds: float) -> None:
        """Block until another thread has added a message or recorded an error since ``news``, at most ``seconds``."""
        with self._lock:
            self._changed.wait_for(lambda: self.arrivals != self._seen or self._error, seconds)

    def news(self) -> bool:
        """True if something has arrived since the last call. Raises TransportError if an error was recorded."""
        with self._lock:
            self.check()
            news = self.arrivals != self._seen
            self._seen = self.arrivals
            return news


def _describe_arrival(stream: _ExpectedStream) -> str:
    if stream.waiting:
        return f"step {stream.waiting[0][0]}: a message was lost, or sender and receiver count steps differently"
    return f"a message of step {stream.newest} before, which was taken"
