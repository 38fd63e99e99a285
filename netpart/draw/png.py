"""PNG encoder for arrays: 8 bits per channel, no palette, no filter (ISO/IEC 15948)."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
DEPTH, GREY, TRUE_COLOUR = 8, 0, 2


def encode_png(image: NDArray[Any]) -> bytes:
    """Encode ``image``, (height, width, 3) uint8 in red, green, blue with the top row first, as a PNG file."""
    return _encode_pixels(image, TRUE_COLOUR)


def encode_grey_png(image: NDArray[Any]) -> bytes:
    """Encode ``image``, (height, width) uint8 with the top row first, as a PNG file of grey values."""
    return _encode_pixels(image, GREY)


def _encode_pixels(image: NDArray[Any], colours: int) -> bytes:
    """Encode the pixels of ``image`` as a file of the colour type ``colours``."""
    height, width = image.shape[:2]
    pixels = image.reshape(height, -1)
    rows = np.zeros((height, 1 + pixels.shape[1]), np.uint8)  # each row begins with its filter type: 0, none
    rows[:, 1:] = pixels
    head = struct.pack(">IIBBBBB", width, height, DEPTH, colours, 0, 0, 0)
    chunks = (b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")
    return SIGNATURE + b"".join(_png_chunk(kind, content) for kind, content in chunks)


def _png_chunk(kind: bytes, content: bytes) -> bytes:
    """One chunk of the file: length of the content, kind, content, and the CRC of kind and content."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
