"""Checksums of a checkpoint's tensors, and whether all of their elements are finite: one pass over the file says both.

The file's metadata hold them as ``crc32``: of each tensor, in the order of their names, the CRC-32 of its bytes in 8
hexadecimal digits. Many processes write a file together, so its owner reserves the place when it creates the file, and
fills it when all have written. Files of other tools have none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

from netpart.errors import DataError

if TYPE_CHECKING:
    from netpart.checkpoint.tensor_file import TensorFile

KEY, DIGITS, OPEN = "crc32", 8, "-"
PLACE = f'"{KEY}":"'.encode()
"""What stands before the checksums in a header; in no string of it, where JSON writes a quotation mark as \\"."""
BLOCK = 1 << 20
"""Bytes that are looked at together: they stay in the cache."""


class TensorScan(NamedTuple):
    """What one pass over a tensor has found."""

    checksum: int
    finite: bool


def reserve_checksums(names: Collection[str]) -> dict[str, str]:
    """The metadata of a file whose checksums are not known yet."""
    return {KEY: OPEN * DIGITS * len(names)}


def checksums_text(found: Mapping[str, TensorScan]) -> str:
    """The checksums of all tensors as the metadata hold them."""
    return "".join(f"{found[name].checksum:0{DIGITS}x}" for name in sorted(found))


def parse_checksums(metadata: Mapping[str, str], names: Collection[str]) -> dict[str, int]:
    """The checksums by tensor; none where the file has none. Raises DataError for what cannot be those of ``names``."""
    text = metadata.get(KEY)
    if text is None:
        return {}
    if len(text) != DIGITS * len(names) or not re.fullmatch(r"[0-9a-f]*", text):
        got = "a file that was not finished" if set(text) == {OPEN} else f"{text:.40}"
        raise DataError(f"{KEY}: expected {DIGITS} hexadecimal digits for each of {len(names)} tensors, got {got}")
    return {name: int(text[DIGITS * i :][:DIGITS], 16) for i, name in enumerate(sorted(names))}


def scan_tensor(file: TensorFile, name: str) -> TensorScan:
    """Reads a tensor once, block by block. Raises DataError if the file ends before it."""
    tensor = file.tensors[name]
    checksum = 0
    finite = True
    block = np.empty(min(BLOCK, tensor.nbytes), np.uint8)
    for at in range(0, tensor.nbytes, BLOCK):
        part = block[: tensor.nbytes - at]
        file.read(part.data, tensor.offset + at)
        checksum = crc32(part.data, checksum)
        finite = finite and bool(np.isfinite(part.view(tensor.item)).all())
    return TensorScan(checksum, finite)
