"""Small stores that the tests of this folder share."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.record import Record, encode_record
from netpart.data.store import KvWriter


def kv_bytes(records: Sequence[tuple[bytes, bytes]]) -> bytes:
    """A KVFile put together by hand, independent of KvWriter."""
    parts = (struct.pack("<Q", len(part)) + part for record in records for part in record)
    return b"".join(parts)


def pixels(rows: int, shape: tuple[int, ...], seed: int = 0) -> NDArray[np.uint8]:
    """Images whose elements tell rows and places apart."""
    return np.random.default_rng(seed).integers(0, 256, (rows, *shape), np.uint8)


def image_store(path: Path, images: NDArray[Any]) -> Path:
    """A kvfile of images; the label of row i is i."""
    with KvWriter(path) as writer:
        for i, image in enumerate(images):
            writer.put(b"%08d" % i, encode_record(Record.of(image, i)))
    return path
