from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.data.stores.protobuf_wire import (
    encode_delimited,
    encode_varint,
    encode_varint_field,
    read_fields,
    read_varint,
    varint_to_int32,
)
from netpart.errors import DataError


@given(st.integers(0, 2**64 - 1), st.binary(max_size=3), st.binary(max_size=3))
def test_a_varint_is_read_where_it_stands(value: int, before: bytes, after: bytes) -> None:
    encoded = encode_varint(value)
    assert read_varint(before + encoded + after, len(before)) == (value, len(before) + len(encoded))


@given(st.integers(-(2**31), 2**31 - 1))
def test_a_negative_int32_takes_ten_bytes_as_in_protocol_buffers(value: int) -> None:
    encoded = encode_varint(value)
    assert varint_to_int32(read_varint(encoded, 0)[0]) == value
    assert (len(encoded) == 10) == (value < 0)


@given(st.integers(1, 2**29 - 1), st.binary(max_size=300), st.integers(0, 2**31 - 1))
def test_fields_come_back_in_order(number: int, payload: bytes, value: int) -> None:
    fields = list(read_fields(encode_delimited(number, payload) + encode_varint_field(number, value)))
    assert fields == [(number, 2, payload), (number, 0, value)]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\x80", "byte 0: expected a varint, got the end"),
        (b"\xff" * 11, "more than 10 bytes"),
        (b"\x02\x00", "expected a field"),  # field number 0
        (b"\x0b", "expected a field"),  # a group, which no record has
        (b"\x0d\x00\x00\x00", "a field of 4 bytes, got only 3 more"),
        (b"\x09" + b"\x00" * 7, "a field of 8 bytes, got only 7 more"),
        (b"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00", "got only 1 more"),
    ],
)
def test_what_is_no_message_is_refused(data: bytes, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        list(read_fields(data))


@given(st.binary(max_size=64))
def test_any_bytes_are_fields_or_a_data_error(data: bytes) -> None:
    try:
        fields = list(read_fields(data))
    except DataError:
        return
    assert sum(len(value) for _, _, value in fields if isinstance(value, bytes)) <= len(data)
