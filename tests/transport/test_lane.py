"""Lane: both ends lay the same memory out alike, nothing overlaps, and a full ring is an error."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.errors import TransportError
from netpart.transport.cache_lines import LINE
from netpart.transport.frames import DTYPES, Array, FrameHeader
from netpart.transport.lane import UNPROMISED, MessageLane, lane_bytes, ring_capacity, slot_array
from netpart.transport.promise import Promise

RUN = b"run-0001"
SHAPES = st.lists(st.integers(0, 9), max_size=3).map(tuple)
PROMISES = st.lists(st.tuples(SHAPES, st.sampled_from(DTYPES), st.integers(1, 3)), max_size=5).map(
    lambda drawn: [
        Promise(FrameHeader(0, (1, 0, 0, edge, 0), 0, dtype, shape), ahead)
        for edge, (shape, dtype, ahead) in enumerate(drawn)
    ]
)


def ends(promises: list[Promise]) -> tuple[MessageLane, MessageLane]:
    """The receiver's and the sender's end."""
    memory = mmap.mmap(-1, lane_bytes(promises))
    return MessageLane.make(memory, promises, RUN), MessageLane.open(memory, RUN)


def test_a_message_with_a_place_takes_no_slot() -> None:
    flat, header = np.zeros(32, np.uint8), FrameHeader(0, (1, 0, 0, 0, 0), 0, np.dtype(np.int32), (4,))
    promises = [Promise(header, 1, descriptor=5, offset=16)]
    assert lane_bytes(promises) == lane_bytes([])
    memory, asked = mmap.mmap(-1, lane_bytes(promises)), list[Promise]()

    def place(promise: Promise) -> list[Array]:
        asked.append(promise)
        return [slot_array(flat[promise.offset :], promise.header, writable=True)]

    receiver, sender = MessageLane.make(memory, promises, RUN, place), MessageLane.open(memory, RUN, place)
    next(sender.streams[0].slots)[...] = 3
    assert (next(receiver.streams[0].slots) == 3).all()
    assert asked == 2 * promises
    assert flat.tolist() == 16 * [0] + 4 * [3, 0, 0, 0]
    with pytest.raises(TransportError, match=r"expected a channel with slots, got one whose message has a place"):
        MessageLane.open(memory, RUN)


def slots(lane: MessageLane, promise: Promise) -> list[Array]:
    stream = lane.by_channel[promise.header.channel]
    return [next(stream.slots) for _ in range(promise.ahead)]


@given(PROMISES)
def test_every_slot_is_what_was_promised_and_apart_from_the_others(promises: list[Promise]) -> None:
    receiver, sender = ends(promises)
    for number, promise in enumerate(promises):
        for slot in slots(sender, promise):
            assert (slot.shape, slot.dtype) == (promise.header.shape, promise.header.dtype)
            assert slot.ctypes.data % LINE == 0 or slot.size == 0
            slot[...] = number + 1
    sender.write(7, 11)
    for number, promise in enumerate(promises):
        for slot in slots(receiver, promise):
            assert (slot == number + 1).all()
            assert not slot.flags.writeable
    assert list(receiver.read()) == [(7, 11)]


@given(PROMISES)
def test_messages_come_in_order_round_after_round_and_a_full_ring_raises(promises: list[Promise]) -> None:
    receiver, sender = ends(promises)
    messages = [(step % 3, step) for step in range(100)]
    for start in range(0, 100, ring_capacity(promises)):
        for message in messages[start : start + ring_capacity(promises)]:
            sender.write(*message)
        if start + ring_capacity(promises) <= 100:
            with pytest.raises(TransportError, match=f"at most {ring_capacity(promises)} messages in flight"):
                sender.write(0, 0)
        assert list(receiver.read()) == messages[start : start + ring_capacity(promises)]
    assert list(receiver.read()) == []


def test_a_lane_is_silent_until_something_comes() -> None:
    receiver, sender = ends([])
    before = receiver.silent
    sender.write(0, 0)
    after = receiver.silent
    assert (before, after, len(list(receiver.read())), receiver.silent) == (True, False, 1, True)


def test_the_first_complaint_stays() -> None:
    receiver, sender = ends([])
    for edge in (3, 4):
        sender.complain(FrameHeader(0, (1, 0, 0, edge, 0), 9, np.dtype(np.float32), (2, 5)))
    assert list(receiver.read()) == [(UNPROMISED, 9)] * 2
    assert receiver.complaint() == FrameHeader(0, (1, 0, 0, 3, 0), 9, np.dtype(np.float32), (2, 5))
