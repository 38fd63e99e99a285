"""Protocol-buffer wire format, as far as records need it: varints and length-delimited fields.

Data files are not trusted: every length is checked against the end of the bytes before it is used
(https://protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

from collections.abc import Iterator

from netpart.errors import DataError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_FIXED = {FIXED64: 8, FIXED32: 4}
_LONGEST_VARINT = 10
_LARGEST_TAG = 2**32 - 1


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned 64-bit varint at byte ``at``; return it and the offset after it.

    Raises DataError if the bytes end inside it or it is longer than 10 bytes.
    """
    value = 0
    for i, byte in enumerate(data[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value & (2**64 - 1), at + i + 1
    short = at + _LONGEST_VARINT > len(data)
    raise DataError(f"byte {at}: expected a varint, got {'the end of the bytes' if short else 'more than 10 bytes'}")


def encode_varint(value: int) -> bytes:
    """Encode an integer; a negative one as its 64-bit two's complement, as protocol buffers do."""
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def encode_delimited(number: int, payload: bytes) -> bytes:
    """Encode field ``number`` as length-delimited bytes."""
    return encode_varint(number << 3 | BYTES) + encode_varint(len(payload)) + payload


def encode_varint_field(number: int, value: int) -> bytes:
    """Encode field ``number`` as one varint."""
    return encode_varint(number << 3 | VARINT) + encode_varint(value)


def varint_to_int32(value: int) -> int:
    """Convert a varint to int32: its low 32 bits, in two's complement."""
    # Flipping the sign bit and subtracting its weight extends the sign without a branch.
    return (value & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


def read_fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Yield (field number, wire type, value) of a message: an int for varints, else the payload's bytes.

    Raises DataError, with the byte, if the message is truncated or malformed.
    """
    at = 0
    while at < len(data):
        start = at
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if not number or tag > _LARGEST_TAG or kind not in (VARINT, FIXED64, BYTES, FIXED32):
            raise DataError(f"byte {start}: expected a field of a protocol-buffer message, got tag {tag}")
        if kind == VARINT:
            value, at = read_varint(data, at)
            yield number, kind, value
        else:
            payload, at = _read_payload(data, at, kind)
            yield number, kind, payload


def _read_payload(data: bytes, at: int, kind: int) -> tuple[bytes, int]:
    length, start = (_FIXED[kind], at) if kind in _FIXED else read_varint(data, at)
    if length > len(data) - start:
        raise DataError(f"byte {at}: expected a field of {length} bytes, got only {len(data) - start} more")
    return data[start : start + length], start + length
