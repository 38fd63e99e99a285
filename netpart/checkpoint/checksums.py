"""Checksums of a checkpoint's tensors, and a check that all elements are finite: one pass over the bytes computes both.

The file's metadata stores them under ``crc32``: the CRC-32 of each tensor's bytes as 8 hexadecimal digits, in the order
of the tensors' names. Many processes write a file together, so its owner reserves the space when it creates the file,
and fills it in after all have written. Files of other tools have no checksums.

Who writes a range of a tensor scans it in its own memory (``WrittenRange``), and the owner joins the ranges: nothing is
read again, and bytes that change on the way to the disk differ from their checksum. Only a tensor that is written
another way, as rows that are no range, is scanned in the file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from netpart.checkpoint.crc import join_crcs
from netpart.errors import DataError

if TYPE_CHECKING:
    from netpart.checkpoint.tensor_file import TensorFile

KEY, DIGITS, OPEN = "crc32", 8, "-"
PLACE = f'"{KEY}":"'.encode()
"""The bytes that precede the checksums in a header. No string in it contains them: JSON writes its quotation mark as
\\"."""
BLOCK = 1 << 20
"""Bytes that are scanned at a time: few enough to stay in the processor's cache, and a multiple of every item size."""
SQUARES = 8192
"""Elements whose squares are summed at a time: so few that no BLAS starts threads for them."""


class TensorScan(NamedTuple):
    """The result of one pass over a tensor: its CRC-32, and whether all of its elements are finite."""

    checksum: int
    finite: bool


class WrittenRange(NamedTuple):
    """The result of one pass over ``nbytes`` bytes of a tensor from byte ``start`` on, which were written to a file."""

    start: int
    nbytes: int
    checksum: int
    finite: bool


UNSCANNED = WrittenRange(-1, 0, 0, True)
"""Stands for bytes that were written but not scanned: with it, no ranges tile a tensor."""


class RunningScan:
    """One pass over elements ``item``, block by block; ``result`` is that of all blocks so far."""

    def __init__(self, item: np.dtype[Any]) -> None:
        self.item = item
        self.result = TensorScan(0, True)

    def feed(self, block: NDArray[np.uint8]) -> None:
        """Take the next bytes; all blocks but the last have BLOCK bytes."""
        checksum, finite = self.result
        self.result = TensorScan(crc32(block.data, checksum), finite and are_finite(block.view(self.item)))


def are_finite(values: NDArray[Any]) -> bool:
    """True if no element of an array of one axis is nan or infinite."""
    if values.dtype.kind != "f":
        return True
    whole = len(values) // SQUARES * SQUARES
    parts = [part for part in (values[:whole].reshape(-1, SQUARES), values[whole:]) if part.size]
    # A sum of squares is fast, and never finite if one of them is not. Large numbers overflow: these are looked at.
    with np.errstate(all="ignore"):
        finite = all(np.isfinite(np.vecdot(part, part)).all() for part in parts)
    return bool(finite or np.isfinite(values).all())


def join_ranges(ranges: Iterable[WrittenRange], nbytes: int) -> TensorScan | None:
    """The scan of a tensor of ``nbytes`` bytes, of which ``ranges`` were written; None if they do not tile it."""
    end, checksum, finite = 0, 0, True
    for each in sorted(ranges):
        if each.start != end:
            return None
        checksum = join_crcs(checksum, each.checksum, each.nbytes)
        finite = finite and each.finite
        end += each.nbytes
    return TensorScan(checksum, finite) if end == nbytes else None


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
    scan = RunningScan(tensor.item)
    block = np.empty(min(BLOCK, tensor.nbytes), np.uint8)
    for at in range(0, tensor.nbytes, BLOCK):
        part = block[: tensor.nbytes - at]
        file.read(part.data, tensor.offset + at)
        scan.feed(part)
    return scan.result
