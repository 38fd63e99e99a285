"""Lane: the memory between one sender and one receiver, laid out before the first message and the same for both.

    0       messages sent          written by the sender, read by the receiver
    64      messages taken         written by the receiver, read by the sender
    128     number of promises
    192     promises               header of what each channel brings, and how many may be on their way
            ring of headers        of the messages that were sent, in order
            slots                  of each channel, one per message that may be on its way: they take turns

A message is its elements in a slot, its header in the ring, and at last the count of messages sent. That its parts
are seen in this order rests on x86-64, which keeps the order of stores and of loads, and stores 8 aligned bytes as
one; the C library fences what it copies past the caches.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from struct import Struct

import numpy as np

from netpart.errors import TransportError
from netpart.transport.frames import HEADER, Array, Channel, Header, pack, unpack_header

LINE = 64
"""Bytes of a cache line: what two processes write does not share one."""
PROMISE = Struct(f"<{HEADER.size}sQ")
STEP = slice(40, 48)
"""Where a header has its step."""
SENT, TAKEN, COUNT, PROMISES = 0, LINE, 2 * LINE, 3 * LINE
SPARE = 8
"""Headers that fit the ring beyond what was promised, so that who breaks a promise can be named."""


@dataclass(frozen=True)
class Promise:
    """What a channel brings, as the header of its first message, and how many messages may be on their way."""

    header: Header
    ahead: int

    @property
    def nbytes(self) -> int:
        """Bytes of its slots."""
        return self.ahead * up(self.header.nbytes)


def up(nbytes: int, unit: int = LINE) -> int:
    """The next multiple of ``unit``."""
    return -(-nbytes // unit) * unit


def capacity(promises: Sequence[Promise]) -> int:
    """Headers that the ring holds: one more per channel than may be on its way, which is a mistake to be named."""
    return SPARE + sum(promise.ahead + 1 for promise in promises)


def ring_start(promises: Sequence[Promise]) -> int:
    """Where the ring of headers begins."""
    return PROMISES + len(promises) * PROMISE.size


def slots_start(promises: Sequence[Promise]) -> int:
    """Where the first slot begins."""
    return ring_start(promises) + capacity(promises) * PROMISE.size


def lane_bytes(promises: Sequence[Promise]) -> int:
    """Bytes of a lane for ``promises``, in whole pages."""
    return up(slots_start(promises) + sum(promise.nbytes for promise in promises), mmap.ALLOCATIONGRANULARITY)


class Stream:
    """What a lane knows of one channel. ``slots`` are its arrays in turn; all its headers differ in the step alone."""

    def __init__(self, header: Header, packed: bytes, slots: Sequence[Array]) -> None:
        self.header, self.slots = header, cycle(slots)
        self.before, self.after = packed[: STEP.start], packed[STEP.stop : HEADER.size]

    def packed(self, step: int) -> bytes:
        """The header of message ``step``."""
        return self.before + step.to_bytes(STEP.stop - STEP.start, "little") + self.after

    def takes(self, array: Array) -> bool:
        """True if ``array`` is as promised."""
        return array.shape == self.header.shape and array.dtype == self.header.dtype


class Lane:
    """One end of a lane: ``streams`` by channel, and by header as it was promised."""

    def __init__(self, memory: mmap.mmap, promises: Sequence[Promise], run_id: bytes, writable: bool) -> None:
        self._memory, self._words = memory, memoryview(memory).cast("q")
        self._ring, self._capacity = ring_start(promises), capacity(promises)
        self._sent = self._taken = 0
        self.streams: dict[Channel, Stream] = {}
        at = slots_start(promises)
        for promise in promises:
            slots = slot_arrays(memory, at, promise, writable)
            self.streams[promise.header.channel] = Stream(promise.header, pack(promise.header, run_id), slots)
            at += promise.nbytes
        self._by_header = {stream.before + stream.after: stream for stream in self.streams.values()}

    @classmethod
    def make(cls, memory: mmap.mmap, promises: Sequence[Promise], run_id: bytes) -> Lane:
        """Writes the receiver's promises into fresh memory; the receiver's end."""
        memoryview(memory).cast("q")[COUNT // 8] = len(promises)
        for i, promise in enumerate(promises):
            PROMISE.pack_into(memory, PROMISES + i * PROMISE.size, pack(promise.header, run_id), promise.ahead)
        return cls(memory, promises, run_id, writable=False)

    @classmethod
    def open(cls, memory: mmap.mmap, run_id: bytes) -> Lane:
        """Reads the promises from the receiver's memory; the sender's end."""
        count = memoryview(memory).cast("q")[COUNT // 8]
        rows = (PROMISE.unpack_from(memory, PROMISES + i * PROMISE.size) for i in range(count))
        promises = [Promise(unpack_header(packed, run_id), ahead) for packed, ahead in rows]
        return cls(memory, promises, run_id, writable=True)

    def promised(self, packed: bytes) -> Stream | None:
        """The stream whose promise a header keeps, but for its step, which is not looked at."""
        return self._by_header.get(packed[: STEP.start] + packed[STEP.stop :])

    def write(self, packed: bytes) -> None:
        """Adds a header, whose slot must be complete, to the ring. Raises TransportError if that is full."""
        if self._sent - self._words[TAKEN // 8] >= self._capacity:
            raise TransportError(
                f"expected at most {self._capacity} messages on their way; senders must await receivers"
            )
        at = self._ring + self._sent % self._capacity * PROMISE.size
        self._memory[at : at + HEADER.size] = packed
        self._sent += 1
        self._words[SENT // 8] = self._sent

    def read(self) -> Iterator[bytes]:
        """The headers that have come since the last call."""
        sent = self._words[SENT // 8]
        while self._taken < sent:
            at = self._ring + self._taken % self._capacity * PROMISE.size
            self._taken += 1
            yield self._memory[at : at + HEADER.size]
        self._words[TAKEN // 8] = self._taken


def slot_arrays(memory: mmap.mmap, at: int, promise: Promise, writable: bool) -> list[Array]:
    """The slots of a channel as arrays, the first at ``at``."""
    flat, header = np.frombuffer(memory, np.uint8), promise.header
    flat.flags.writeable = writable
    starts = (at + i * up(header.nbytes) for i in range(promise.ahead))
    return [flat[start : start + header.nbytes].view(header.dtype).reshape(header.shape) for start in starts]
