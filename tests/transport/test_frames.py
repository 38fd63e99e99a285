"""Frames: what is packed comes back, and nothing else passes."""

from __future__ import annotations

import struct
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.errors import TransportError
from netpart.transport.frames import (
    DTYPES,
    HEADER,
    LARGEST_RANK,
    ForeignFrame,
    FrameHeader,
    frame_payload,
    pack_header,
    read_frame_header,
)

RUN = b"run-0001"
U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
HEADERS = st.builds(
    FrameHeader,
    U32,
    st.tuples(U32, U32, U32, U32, U32),
    U64,
    st.sampled_from(DTYPES),
    st.lists(st.integers(0, 3), max_size=LARGEST_RANK).map(tuple),
)
HEADER_0 = FrameHeader(1, (1, 0, 0, 3, 0), 7, np.dtype(np.float32), (2, 3))


def framed(header: FrameHeader) -> bytes:
    return pack_header(header, RUN) + bytes(header.nbytes)


@given(HEADERS)
def test_a_header_comes_back(header: FrameHeader) -> None:
    assert read_frame_header(framed(header), RUN) == header


@given(st.binary(max_size=300))
def test_random_bytes_are_foreign(frame: bytes) -> None:
    with pytest.raises(ForeignFrame):
        read_frame_header(frame, RUN)


@given(HEADERS, st.data())
def test_a_changed_header_says_something_else_or_raises(header: FrameHeader, data: st.DataObject) -> None:
    frame = bytearray(framed(header))
    at = data.draw(st.integers(0, HEADER.size - 1))
    frame[at] ^= data.draw(st.integers(1, 255))
    try:
        found = read_frame_header(bytes(frame), RUN)
    except TransportError:
        return
    assert found != header
    assert found.nbytes == header.nbytes
    assert frame_payload(memoryview(frame), found).shape == found.shape


@given(HEADERS, st.binary(min_size=HEADER.size - 14, max_size=HEADER.size + 100))
def test_garbage_behind_a_right_start_raises_nothing_but_transport_errors(header: FrameHeader, rest: bytes) -> None:
    frame = pack_header(header, RUN)[:14] + rest
    try:
        found = read_frame_header(frame, RUN)
    except TransportError:
        return
    assert len(frame) == HEADER.size + found.nbytes


@given(HEADERS, st.integers(1, 50))
def test_a_frame_of_another_length_raises(header: FrameHeader, n: int) -> None:
    frame = framed(header)
    for other in (frame + bytes(n), frame[:-n]):
        with pytest.raises(TransportError):
            read_frame_header(other, RUN)


def test_another_run_is_foreign_and_another_version_is_not() -> None:
    frame = framed(HEADER_0)
    with pytest.raises(ForeignFrame, match="expected frames of run"):
        read_frame_header(frame, b"run-0002")
    with pytest.raises(TransportError, match="version 1, got 2") as raised:
        read_frame_header(frame[:4] + struct.pack("<H", 2) + frame[6:], RUN)
    assert not isinstance(raised.value, ForeignFrame)


def test_extents_whose_product_overflows_raise() -> None:
    frame = bytearray(framed(HEADER_0))
    struct.pack_into("<2Q", frame, HEADER.size - 64, 2**63, 2**63)
    with pytest.raises(TransportError, match="expected"):
        read_frame_header(bytes(frame), RUN)


def test_the_payload_lies_in_the_frame() -> None:
    frame = bytearray(framed(HEADER_0))
    array = frame_payload(memoryview(frame), HEADER_0)
    array[...] = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert frame[HEADER.size :] == np.arange(6, dtype=np.float32).tobytes()


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (FrameHeader(0, (0, 0, 0, 0, 0), 0, np.dtype(object), (1,)), "expected one of the dtypes"),
        (FrameHeader(0, (0, 0, 0, 0, 0), 0, np.dtype(">f4"), (1,)), "expected one of the dtypes"),
        (FrameHeader(0, (0, 0, 0, 0, 0), 0, np.dtype("f4"), (1,) * 9), "at most 8 axes"),
        (FrameHeader(0, (0, 0, 0, -1, 0), 0, np.dtype("f4"), (1,)), "unsigned"),
        (FrameHeader(0, (0, 0, 0, 0, 0), -1, np.dtype("f4"), (1,)), "unsigned"),
    ],
)
def test_what_no_frame_can_carry_is_not_packed(header: FrameHeader, says: str) -> None:
    with pytest.raises(TransportError, match=says):
        pack_header(header, RUN)


@given(HEADERS)
def test_bytes_are_counted_as_numpy_does(header: FrameHeader) -> None:
    assert header.nbytes == np.empty(header.shape, header.dtype).nbytes == prod(header.shape) * header.dtype.itemsize
