"""Record: one labelled example in SINGA's format, a serialized RecordProto.

RecordProto has four fields: ``shape = 1`` (repeated int32), ``label = 2`` (int32), ``pixel = 3``
(bytes) and ``data = 4`` (packed floats). SINGA 0.1 wraps it as field ``image = 5`` of a Record.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.stores.protobuf_wire import (
    BYTES,
    FIXED32,
    VARINT,
    encode_delimited,
    encode_varint_field,
    read_fields,
    read_varint,
    varint_to_int32,
)
from netpart.errors import DataError
from netpart.spec import Shape

_SHAPE, _LABEL, _PIXEL, _DATA, _IMAGE = 1, 2, 3, 4, 5
_FLOAT = np.dtype("<f4")


@dataclass(frozen=True)
class Record:
    """One example. Its elements are ``data`` (little-endian float32) or, if that is empty, ``pixel`` (uint8)."""

    shape: Shape
    label: int = 0
    pixel: bytes = b""
    data: bytes = b""

    @classmethod
    def from_array(cls, array: NDArray[Any], label: int = 0) -> Record:
        """Create the record of an array: uint8 becomes ``pixel``, every other dtype ``data`` as float32."""
        if array.dtype == np.uint8:
            return cls(array.shape, label, pixel=array.tobytes())
        return cls(array.shape, label, data=array.astype(_FLOAT).tobytes())

    @property
    def values(self) -> NDArray[Any]:
        """The elements as a flat array: float32 or uint8, read-only."""
        return np.frombuffer(self.data, _FLOAT) if self.data else np.frombuffer(self.pixel, np.uint8)


def encode_record(record: Record) -> bytes:
    """Serialize a record as a RecordProto, byte for byte as the protobuf library does."""
    parts = [encode_varint_field(_SHAPE, extent) for extent in record.shape]
    parts.append(encode_varint_field(_LABEL, record.label))
    parts += [
        encode_delimited(number, value) for number, value in ((_PIXEL, record.pixel), (_DATA, record.data)) if value
    ]
    return b"".join(parts)


def decode_record(value: bytes) -> Record:
    """Read a serialized RecordProto, or a Record of SINGA 0.1 around one; unknown fields are skipped.

    Raises DataError, with the byte, if the bytes are truncated or not such a message.
    """
    fields = list(read_fields(value))
    images = [part for number, kind, part in fields if (number, kind) == (_IMAGE, BYTES) and isinstance(part, bytes)]
    if images and not any(number in (_PIXEL, _DATA) for number, _, _ in fields):
        # Two occurrences of a message field merge, and merging messages is joining their bytes.
        fields = list(read_fields(b"".join(images)))
    return _build_record(fields)


def _build_record(fields: Iterable[tuple[int, int, int | bytes]]) -> Record:
    shape: list[int] = []
    data: list[bytes] = []
    label, pixel = 0, b""
    for number, kind, value in fields:
        # Repeated fields may be packed (BYTES) or not; a parser must accept both, even mixed in one message.
        if number == _SHAPE and kind in (VARINT, BYTES):
            shape += _unpack_integers(value)
        elif number == _DATA and kind in (FIXED32, BYTES) and isinstance(value, bytes):
            data.append(_check_packed_floats(value))
        elif number == _LABEL and isinstance(value, int):
            label = varint_to_int32(value)
        elif number == _PIXEL and kind == BYTES and isinstance(value, bytes):
            pixel = value
    return Record(tuple(shape), label, pixel, b"".join(data))


def _unpack_integers(value: int | bytes) -> list[int]:
    if isinstance(value, int):
        return [varint_to_int32(value)]
    found, at = [], 0
    while at < len(value):
        one, at = read_varint(value, at)
        found.append(varint_to_int32(one))
    return found


def _check_packed_floats(value: bytes) -> bytes:
    if len(value) % _FLOAT.itemsize:
        raise DataError(f"data: expected packed floats of 4 bytes, got {len(value)} bytes")
    return value
