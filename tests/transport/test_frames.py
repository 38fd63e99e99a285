"""Frames: what is packed comes back, and nothing else passes."""

from __future__ import annotations

import struct
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.errors import TransportError
from netpart.transport.frames import DTYPES, HEADER, LARGEST_RANK, Foreign, Header, pack, payload, unpack

RUN = b"run-0001"
U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
HEADERS = st.builds(
    Header,
    U32,
    st.tuples(U32, U32, U32, U32, U32),
    U64,
    st.sampled_from(DTYPES),
    st.lists(st.integers(0, 3), max_size=LARGEST_RANK).map(tuple),
)
HEADER_0 = Header(1, (1, 0, 0, 3, 0), 7, np.dtype(np.float32), (2, 3))


def framed(header: Header) -> bytes:
    return pack(header, RUN) + bytes(header.nbytes)


@given(HEADERS)
def test_a_header_comes_back(header: Header) -> None:
    assert unpack(framed(header), RUN) == header


@given(st.binary(max_size=300))
def test_random_bytes_are_foreign(frame: bytes) -> None:
    with pytest.raises(Foreign):
        unpack(frame, RUN)


@given(HEADERS, st.data())
def test_a_changed_header_says_something_else_or_raises(header: Header, data: st.DataObject) -> None:
    frame = bytearray(framed(header))
    at = data.draw(st.integers(0, HEADER.size - 1))
    frame[at] ^= data.draw(st.integers(1, 255))
    try:
        found = unpack(bytes(frame), RUN)
    except TransportError:
        return
    assert found != header
    assert found.nbytes == header.nbytes
    assert payload(memoryview(frame), found).shape == found.shape


@given(HEADERS, st.binary(min_size=HEADER.size - 14, max_size=HEADER.size + 100))
def test_garbage_behind_a_right_start_raises_nothing_but_transport_errors(header: Header, rest: bytes) -> None:
    frame = pack(header, RUN)[:14] + rest
    try:
        found = unpack(frame, RUN)
    except TransportError:
        return
    assert len(frame) == HEADER.size + found.nbytes


@given(HEADERS, st.integers(1, 50))
def test_a_frame_of_another_length_raises(header: Header, n: int) -> None:
    frame = framed(header)
    for other in (frame + bytes(n), frame[:-n]):
        with pytest.raises(TransportError):
            unpack(other, RUN)


def test_another_run_is_foreign_and_another_version_is_not() -> None:
    frame = framed(HEADER_0)
    with pytest.raises(Foreign, match="expected frames of run"):
        unpack(frame, b"run-0002")
    with pytest.raises(TransportError, match="version 1, got 2") as raised:
        unpack(frame[:4] + struct.pack("<H", 2) + frame[6:], RUN)
    assert not isinstance(raised.value, Foreign)


def test_extents_whose_product_overflows_raise() -> None:
    frame = bytearray(framed(HEADER_0))
    struct.pack_into("<2Q", frame, HEADER.size - 64, 2**63, 2**63)
    with pytest.raises(TransportError, match="expected"):
        unpack(bytes(frame), RUN)


def test_the_payload_lies_in_the_frame() -> None:
    frame = bytearray(framed(HEADER_0))
    array = payload(memoryview(frame), HEADER_0)
    array[...] = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert frame[HEADER.size :] == np.arange(6, dtype=np.float32).tobytes()


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (Header(0, (0, 0, 0, 0, 0), 0, np.dtype(object), (1,)), "expected one of the dtypes"),
        (Header(0, (0, 0, 0, 0, 0), 0, np.dtype(">f4"), (1,)), "expected one of the dtypes"),
        (Header(0, (0, 0, 0, 0, 0), 0, np.dtype("f4"), (1,) * 9), "at most 8 axes"),
        (Header(0, (0, 0, 0, -1, 0), 0, np.dtype("f4"), (1,)), "unsigned"),
        (Header(0, (0, 0, 0, 0, 0), -1, np.dtype("f4"), (1,)), "unsigned"),
    ],
)
def test_what_no_frame_can_carry_is_not_packed(header: Header, says: str) -> None:
    with pytest.raises(TransportError, match=says):
        pack(header, RUN)


@given(HEADERS)
def test_bytes_are_counted_as_numpy_does(header: Header) -> None:
    assert header.nbytes == np.empty(header.shape, header.dtype).nbytes == prod(header.shape) * header.dtype.itemsize
