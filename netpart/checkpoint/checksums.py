"""Checksums of a checkpoint's tensors, and a check that all elements are finite: one pass over the file computes both.

The file's metadata stores them under ``crc32``: the CRC-32 of each tensor's bytes as 8 hexadecimal digits, in the order
of the tensors' names. Many processes write a file together, so its owner reserves the space when it creates the file,
and fills it in after all have written. Files of other tools have no checksums.
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
"""The bytes that precede the checksums in a header. No string in it contains them: JSON writes its quotation mark as
\\"."""
BLOCK = 1 << 20
"""Bytes that are read at a time: few enough to stay in the processor's cache, and a multiple of every item size."""


class TensorScan(NamedTuple):
    """The result of one pass over a tensor: its CRC-32, and whether all of its elements are finite."""

    checksum: int
    finite: bool


def reserve_checksums(names: Collection[str]) -> dict[str, str]:
    """The metadata of a file whose checksums are not known yet: a placeholder that is replaced in place."""
    # The header's length is fixed when the file is created, so the placeholder is as long as the checksums will be.
    return {KEY: OPEN * DIGITS * len(names)}


def checksums_text(found: Mapping[str, TensorScan]) -> str:
    """The checksums of all tensors as the metadata stores them."""
    return "".join(f"{found[name].checksum:0{DIGITS}x}" for name in sorted(found))


def parse_checksums(metadata: Mapping[str, str], names: Collection[str]) -> dict[str, int]:
    """The checksums by tensor, empty if the file has none. Raises DataError if they cannot be those of ``names``."""
    text = metadata.get(KEY)
    if text is None:
        return {}
    if len(text) != DIGITS * len(names) or not re.fullmatch(r"[0-9a-f]*", text):
        got = "a file that was not finished" if set(text) == {OPEN} else f"{text:.40}"
        raise DataError(f"{KEY}: expected {DIGITS} hexadecimal digits for each of {len(names)} tensors, got {got}")
    return {name: int(text[DIGITS * i :][:DIGITS], 16) for i, name in enumerate(sorted(names))}


def scan_tensor(file: TensorFile, name: str) -> TensorScan:
    """Read a tensor once, block by block. Raises DataError if the file ends before the tensor does."""
    tensor = file.tensors[name]
    checksum = 0
    finite = True
    block = np.empty(min(BLOCK, tensor.nbytes), np.uint8)
    for at in range(0, tensor.nbytes, BLOCK):
        part = block[: tensor.nbytes - at]
        file.read(part.data, tensor.offset + at)
        # The previous value continues the CRC, so the blocks give the checksum of the whole tensor.
        checksum = crc32(part.data, checksum)
        finite = finite and bool(np.isfinite(part.view(tensor.item)).all())
    return TensorScan(checksum, finite)
