"""Datum: one labelled image as Caffe stores it, and SINGA's kLMDBData reads it.

Its fields are ``channels = 1``, ``height = 2``, ``width = 3``, ``data = 4`` (bytes), ``label = 5``, ``float_data = 6``
(repeated float) and ``encoded = 7`` (``data`` is an image file).
"""

from __future__ import annotations

from collections.abc import Sequence

from netpart.data.stores.protobuf_wire import BYTES, FIXED32, VARINT, read_fields, varint_to_int32
from netpart.data.stores.record import Record, decode_record
from netpart.errors import DataError

_CHANNELS, _HEIGHT, _WIDTH, _DATA, _LABEL, _FLOATS, _ENCODED = range(1, 8)
_FLOAT_BYTES = 4
Fields = Sequence[tuple[int, int, int | bytes]]


def decode_sample(value: bytes) -> Record:
    """Read a serialized Datum, RecordProto or Record of SINGA 0.1. Raises DataError for other bytes."""
    fields = list(read_fields(value))
    return _build_datum(fields) if _is_datum(fields) else decode_record(value)


def _is_datum(fields: Fields) -> bool:
    """True for a field that only a Datum has: in records, 3 and 5 are bytes, and there is no 6 or 7."""
    kinds = {(number, kind) for number, kind, _ in fields}
    own = {(_WIDTH, VARINT), (_LABEL, VARINT), (_FLOATS, FIXED32), (_FLOATS, BYTES), (_ENCODED, VARINT)}
    return bool(kinds & own)


def _build_datum(fields: Fields) -> Record:
    numbers = {number: value for number, kind, value in fields if kind == VARINT and isinstance(value, int)}
    if numbers.get(_ENCODED):
        raise DataError("expected plain values, got an encoded image; write the store again without --encoded")
    pixels = [value for number, kind, value in fields if (number, kind) == (_DATA, BYTES) and isinstance(value, bytes)]
    shape = tuple(varint_to_int32(numbers.get(axis, 0)) for axis in (_CHANNELS, _HEIGHT, _WIDTH))
    label = varint_to_int32(numbers.get(_LABEL, 0))
    return Record(shape, label, pixels[-1] if pixels else b"", _float_bytes(fields))


def _float_bytes(fields: Fields) -> bytes:
    """The floats of float_data, packed or one by one, as little-endian bytes."""
    found = b"".join(value for number, _, value in fields if number == _FLOATS and isinstance(value, bytes))
    if len(found) % _FLOAT_BYTES:
        raise DataError(f"float_data: expected packed floats of 4 bytes, got {len(found)} bytes")
    return found
