"""Records of TensorFlow's file format, TFRecord: length, checksum of the length, content, checksum of the content."""

from __future__ import annotations

import struct
from collections.abc import Iterator


def crc32c(content: bytes) -> int:
    """The checksum of RFC 3720, with the polynomial of Castagnoli, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked_checksum(content: bytes) -> int:
    crc = crc32c(content)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def file_records(content: bytes, checked: int = 4096) -> Iterator[bytes]:
    """The content of each record; the checksums of all but large ones are checked, as this function is slow."""
    at = 0
    while at < len(content):
        head = content[at : at + 8]
        (length, check) = struct.unpack("<QI", content[at : at + 12])
        assert check == masked_checksum(head)
        record = content[at + 12 : at + 12 + length]
        at += 16 + length
        assert length > checked or struct.unpack("<I", content[at - 4 : at])[0] == masked_checksum(record)
        yield record
