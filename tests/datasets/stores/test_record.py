from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.data.stores.protobuf_wire import encode_delimited, encode_varint, encode_varint_field
from netpart.data.stores.record import Record, decode_record, encode_record
from netpart.errors import DataError
from netpart.proto import record_pb2

INT32 = st.integers(-(2**31), 2**31 - 1)
FLOATS = st.lists(st.floats(width=32, allow_nan=False), max_size=20)
RECORDS = st.builds(
    Record,
    st.lists(INT32, max_size=5).map(tuple),
    INT32,
    st.binary(max_size=200),
    FLOATS.map(lambda values: struct.pack(f"<{len(values)}f", *values)),
)


@given(RECORDS)
def test_a_record_survives_the_wire(record: Record) -> None:
    assert decode_record(encode_record(record)) == record


@given(RECORDS)
def test_the_bytes_are_those_of_protocol_buffers(record: Record) -> None:
    message = record_pb2.RecordProto(shape=record.shape, label=record.label)
    if record.pixel:
        message.pixel = record.pixel
    message.data.extend(np.frombuffer(record.data, "<f4").tolist())
    assert encode_record(record) == message.SerializeToString(deterministic=True)
    assert decode_record(message.SerializeToString()) == record


@given(RECORDS)
def test_the_wrapper_of_singa_0_1_is_taken_off(record: Record) -> None:
    message = record_pb2.Record(type=record_pb2.Record.kSingleLabelImage)
    message.image.ParseFromString(encode_record(record))
    assert decode_record(message.SerializeToString()) == record


@given(RECORDS)
def test_cut_at_any_byte_it_is_the_fields_before_it_or_a_data_error(record: Record) -> None:
    fields = [encode_varint_field(1, n) for n in record.shape] + [encode_varint_field(2, record.label)]
    fields += [encode_delimited(number, value) for number, value in ((3, record.pixel), (4, record.data)) if value]
    ends = [len(b"".join(fields[:n])) for n in range(len(fields) + 1)]
    encoded = encode_record(record)
    for length in range(len(encoded)):
        if length in ends:
            assert decode_record(encoded[:length]).shape == record.shape[: ends.index(length)]
        else:
            with pytest.raises(DataError, match="byte"):
                decode_record(encoded[:length])


@given(st.binary(max_size=80))
def test_any_bytes_are_a_record_or_a_data_error(value: bytes) -> None:
    try:
        record = decode_record(value)
    except DataError:
        return
    assert len(record.pixel) + len(record.data) <= len(value)


@given(RECORDS, st.binary(max_size=20), st.integers(0, 2**31))
def test_unknown_fields_are_skipped(record: Record, payload: bytes, number: int) -> None:
    unknown = (
        encode_delimited(99, payload)
        + encode_varint_field(7, number)
        + encode_varint(8 << 3 | 1)
        + b"12345678"
        + encode_varint(9 << 3 | 5)
        + b"1234"
    )
    assert decode_record(unknown + encode_record(record) + unknown) == record


@given(st.lists(INT32, max_size=5), FLOATS)
def test_packed_and_unpacked_fields_are_the_same(shape: list[int], values: list[float]) -> None:
    packed = encode_delimited(1, b"".join(map(encode_varint, shape))) + encode_delimited(
        4, struct.pack(f"<{len(values)}f", *values)
    )
    loose = b"".join(encode_varint_field(1, n) for n in shape) + b"".join(
        b"\x25" + struct.pack("<f", v) for v in values
    )
    assert decode_record(packed) == decode_record(loose)
    assert decode_record(packed).shape == tuple(shape)


def test_half_a_float_is_refused() -> None:
    with pytest.raises(DataError, match="packed floats of 4 bytes, got 6 bytes"):
        decode_record(encode_delimited(4, b"\x00" * 6))


def test_arrays_become_pixels_or_floats() -> None:
    image = np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert Record.from_array(image, 4) == Record((2, 3), 4, pixel=bytes(range(6)))
    floats = Record.from_array(image * np.float64(0.5), -1)
    assert floats.values.dtype == np.float32
    np.testing.assert_array_equal(floats.values, [0, 0.5, 1, 1.5, 2, 2.5])
