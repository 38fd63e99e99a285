"""MessageLane: memory between one sender and one receiver, laid out before the first message and mapped by both.

    0       messages sent          written by the sender, read by the receiver
    64      messages taken         written by the receiver, read by the sender
    128     number of promises
    192     complaint              header of the first message that was not promised, see below
    320     promises               for each channel: its header, the most messages in flight, and their place
            ring of entries        one for each message sent, in order: number of the promise, step
            slots                  of each channel, one per message that may be in flight: used in turn

The message of a channel may have a place of its own instead of slots, in other memory that its receiver shares. Or it
stays with its sender. Then the lane of the opposite direction, which is in the sender's memory, has its slot or states
its place; that promise follows the promises of what comes on that lane.

A message is written in three steps: its elements in a slot, its entry in the ring, and last the count of messages sent.
They are seen in this order because x86-64 keeps the order of stores and of loads, and stores 8 aligned bytes at once.
The C library adds a fence where it copies past the caches.

The sender compares each message with its promise. A message that differs is not sent. Instead its header is written to
the complaint, and its entry has the number UNPROMISED, so that the receiver can report what came.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from struct import Struct
from typing import Any

import numpy as np

from netpart.errors import TransportError
from netpart.transport.cache_lines import LINE, round_up
from netpart.transport.frames import (
    HEADER,
    SAME,
    Array,
    Channel,
    FrameHeader,
    format_channel,
    pack_header,
    unpack_header,
)
from netpart.transport.promise import WITH_SENDER, Promise

WORD, ENTRY = 8, 16
"""Bytes of a count, and of an entry of the ring."""
PROMISE = Struct(f"<{HEADER.size}sQqQQ")
SENT, TAKEN, COUNT, COMPLAINT, PROMISES = 0, LINE, 2 * LINE, 3 * LINE, 5 * LINE
UNPROMISED = -1
"""The number in the entry of a message that was not promised."""
SPARE = 8
"""Entries of the ring in addition to those promised, so that a sender that breaks a promise can be named."""


PlaceFinder = Callable[[Promise], Sequence[Any]]
"""Finds the places that the messages of a channel use in turn: arrays of its header's shape and dtype."""


def _no_places(promise: Promise) -> Sequence[Any]:
    """The PlaceFinder of lanes in which every message has a slot. Raises TransportError."""
    raise TransportError(f"{promise.header}: expected a channel with slots, got one whose message has a place; {SAME}")


def ring_capacity(promises: Sequence[Promise]) -> int:
    """Entries that the ring holds: per channel one more than may be in flight, as that mistake is to be reported."""
    return SPARE + sum(promise.ahead + 1 for promise in promises)


def _ring_start(promises: Sequence[Promise]) -> int:
    """The offset in bytes of the ring of entries."""
    return PROMISES + len(promises) * PROMISE.size


def _slots_start(promises: Sequence[Promise]) -> int:
    """The offset in bytes of the first slot."""
    return round_up(_ring_start(promises) + ring_capacity(promises) * ENTRY)


def lane_bytes(promises: Sequence[Promise]) -> int:
    """Bytes of a lane for ``promises``, in whole pages."""
    return round_up(_slots_start(promises) + sum(promise.nbytes for promise in promises), mmap.ALLOCATIONGRANULARITY)


class LaneStream:
    """One channel of a lane: its number among the promises, the promised header, and an endless cycle of its slots."""

    __slots__ = ("channel", "dtype", "header", "number", "shape", "slots")

    def __init__(self, number: int, header: FrameHeader, slots: Sequence[Any]) -> None:
        self.number = number
        self.header = header
        self.slots = cycle(slots)
        self.channel = header.channel
        self.shape = header.shape
        self.dtype = header.dtype


class MessageLane:
    """One end of a lane: the sender's if ``sends``, else the receiver's.

    ``streams`` are by number, the others by channel: ``by_channel`` has the same streams, ``staying`` those whose
    messages stay with the sender, and ``kept`` those of the opposite direction, kept by the receiver of this lane.
    """

    def __init__(
        self, memory: mmap.mmap, promises: Sequence[Promise], run_id: bytes, place: PlaceFinder, sends: bool
    ) -> None:
        self._memory = memory
        self._words = memoryview(memory).cast("q")
        self._ring = _ring_start(promises) // WORD
        self._capacity = ring_capacity(promises)
        self._run_id = run_id
        self._sent = 0
        self._taken = 0
        self._complained = False
        self.streams: list[LaneStream] = []
        self.kept: dict[Channel, LaneStream] = {}
        self.staying: dict[Channel, LaneStream] = {}
        at = _slots_start(promises)
        for number, promise in enumerate(promises):
            # What is kept goes in the opposite direction: the receiver of this lane writes it, its sender reads it.
            places = place(promise) if promise.placed else _lane_slots(memory, at, promise, sends != bool(promise.kept))
            stream = LaneStream(number, promise.header, places)
            if promise.kept:
                self.kept[stream.channel] = stream
            else:
                self.streams.append(stream)
            if promise.descriptor == WITH_SENDER:
                self.staying[stream.channel] = stream
            at += promise.nbytes
        self.by_channel = {stream.channel: stream for stream in self.streams}

    @classmethod
    def make(
        cls, memory: mmap.mmap, promises: Sequence[Promise], run_id: bytes, place: PlaceFinder = _no_places
    ) -> MessageLane:
        """Write the receiver's promises into new memory, those of what it keeps last; return the receiver's end."""
        memoryview(memory).cast("q")[COUNT // WORD] = len(promises)
        for i, promise in enumerate(promises):
            row = pack_header(promise.header, run_id), promise.ahead, promise.descriptor, promise.offset, promise.kept
            PROMISE.pack_into(memory, PROMISES + i * PROMISE.size, *row)
        return cls(memory, promises, run_id, place, sends=False)

    @classmethod
    def open(cls, memory: mmap.mmap, run_id: bytes, place: PlaceFinder = _no_places) -> MessageLane:
        """Read the promises from the receiver's memory; the sender's end. Raises TransportError if they do not fit."""
        count = memoryview(memory).cast("q")[COUNT // WORD]
        most = (len(memory) - PROMISES) // PROMISE.size
        rows = (PROMISE.unpack_from(memory, PROMISES + i * PROMISE.size) for i in range(min(count, most)))
        promises = [Promise(unpack_header(packed, run_id), *rest) for packed, *rest in rows]
        if not 0 <= count <= most or lane_bytes(promises) > len(memory):
            raise TransportError(
                f"expected promises that fit a lane of {len(memory)} bytes, got {count} of larger ones; {SAME}"
            )
        return cls(memory, promises, run_id, place, sends=True)

    def join(self, back: MessageLane) -> str:
        """Take the places of what stays with the sender from ``back``, the lane to it; return a difference, or ""."""
        ours, theirs = ({c: stream.header for c, stream in of.items()} for of in (self.staying, back.kept))
        alone = ", ".join(map(format_channel, sorted(ours.keys() ^ theirs.keys())))
        if ours != theirs:
            return f"{alone} on one side alone" if alone else "other shapes or types"
        for channel, stream in back.kept.items():
            self.staying[channel].slots = stream.slots
        return ""

    def write(self, number: int, step: int) -> None:
        """Add message ``step`` of promise ``number``, whose slot must be complete.

        Raises TransportError if the ring is full.
        """
        words = self._words
        sent = self._sent
        if sent - words[TAKEN // WORD] >= self._capacity:
            wanted = f"at most {self._capacity} messages in flight"
            raise TransportError(f"expected {wanted}, got one more; receive the earlier ones first")
        at = self._ring + sent % self._capacity * 2
        words[at] = number
        words[at + 1] = step
        # The count last: it publishes the entry, and with it the slot.
        self._sent = words[SENT // WORD] = sent + 1

    def complain(self, header: FrameHeader) -> None:
        """Report to the receiver a message that it did not promise to take; only the first complaint is kept."""
        packed = pack_header(header, self._run_id)
        if not self._complained:
            self._memory[COMPLAINT : COMPLAINT + HEADER.size] = packed
        self._complained = True
        self.write(UNPROMISED, header.step)

    def complaint(self) -> FrameHeader:
        """The header of the message that was not promised. Raises TransportError if it is broken."""
        return unpack_header(self._memory[COMPLAINT : COMPLAINT + HEADER.size], self._run_id)

    @property
    def silent(self) -> bool:
        """True if no message has come since the last ``read``."""
        return self._words[SENT // WORD] == self._taken

    def read(self) -> Iterator[tuple[int, int]]:
        """The messages that have come since the last call: number of the promise, and step.

        Raises TransportError for more of them than the ring holds.
        """
        words = self._words
        sent = self._words[SENT // WORD]
        if sent - self._taken > self._capacity:
            wanted = f"at most {self._capacity} messages in flight"
            raise TransportError(f"expected {wanted}, got {sent - self._taken}; {SAME}")
        while self._taken < sent:
            at = self._ring + self._taken % self._capacity * 2
            self._taken += 1
            yield words[at], words[at + 1]
        # Only now, as it allows the sender to overwrite the entries.
        words[TAKEN // WORD] = self._taken


def _lane_slots(memory: mmap.mmap, at: int, promise: Promise, writable: bool) -> list[Array]:
    """The slots of a channel, the first at ``at``."""
    flat = np.frombuffer(memory, np.uint8)
    step = round_up(promise.header.nbytes)
    return [slot_array(flat[at + i * step :], promise.header, writable) for i in range(promise.ahead)]


def slot_array(flat: Array, header: FrameHeader, writable: bool) -> Array:
    """The first bytes of ``flat`` as an array of the shape and dtype of ``header``."""
    array = flat[: header.nbytes].view(header.dtype).reshape(header.shape)
    array.flags.writeable = writable
    return array
