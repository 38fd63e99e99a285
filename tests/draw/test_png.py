from __future__ import annotations

import struct
import zlib

import numpy as np

from netpart.draw.png import encode_png


def chunks(content: bytes) -> list[tuple[bytes, bytes]]:
    """Kind and content of every chunk; asserts their checksums."""
    found, at = [], 8
    while at < len(content):
        (size,) = struct.unpack_from(">I", content, at)
        body = content[at + 4 : at + 8 + size]
        assert struct.unpack_from(">I", content, at + 8 + size) == (zlib.crc32(body),)
        found.append((body[:4], body[4:]))
        at += 12 + size
    return found


def test_a_file_says_its_size_and_holds_its_pixels() -> None:
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    content = encode_png(image)
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    (head, header), (data, packed), (end, nothing) = chunks(content)
    assert (head, data, end, nothing) == (b"IHDR", b"IDAT", b"IEND", b"")
    assert struct.unpack(">IIBBBBB", header) == (7, 5, 8, 2, 0, 0, 0)
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(5, 1 + 7 * 3)
    assert not rows[:, 0].any()
    assert np.array_equal(rows[:, 1:].reshape(image.shape), image)
