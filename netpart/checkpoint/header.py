"""The header of a safetensors file: names, dtypes, shapes and offsets of its tensors.

Layout: 8 bytes N (little-endian), N bytes of JSON, then the tensors without gaps
(https://github.com/huggingface/safetensors#format). A header that is read is checked completely before it is used.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from netpart.errors import DataError
from netpart.spec import Shape

LENGTH = struct.Struct("<Q")
LARGEST = 100_000_000
"""The largest header in bytes; the safetensors library has the same limit."""

DTYPES: Mapping[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
}
PAGE = 4096
"""The first tensor begins at a multiple of this, whatever the metadata are: so a worker can keep its copies in memory
as the disk takes them (``GatheredWrites``)."""
_METADATA = "__metadata__"
_LARGEST_RANK = 64
_LARGEST_EXTENT = 2**63 - 1


@dataclass(frozen=True)
class StoredTensor:
    """A whole, unpartitioned tensor of a checkpoint: dtype name, shape, offset of its first byte in the file."""

    dtype: str
    shape: Shape
    offset: int

    @property
    def item(self) -> np.dtype[Any]:
        """The numpy dtype, little-endian."""
        return DTYPES[self.dtype]

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.item.itemsize


@dataclass(frozen=True)
class SafetensorsHeader:
    """The contents of a checkpoint; ``size`` is that of the whole file in bytes."""

    tensors: Mapping[str, StoredTensor]
    metadata: Mapping[str, str]
    size: int


def write_header(tensors: Mapping[str, tuple[str, Shape]], metadata: Mapping[str, str]) -> tuple[bytes, int]:
    """Lay out tensors (name -> dtype name and shape); return the file's first bytes and its size in bytes.

    Wide dtypes come first, so every tensor is aligned to its item size. Raises DataError for a dtype not in ``DTYPES``.
    """
    for name, (dtype, _) in tensors.items():
        if dtype not in DTYPES:
            raise DataError(f"{name}: expected dtype {', '.join(DTYPES)}, got {dtype!r}; convert it first")
    fields: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    places = place_tensors(tensors)
    for name, (start, end) in places.items():
        dtype, shape = tensors[name]
        fields[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
    # The format allows spaces after the JSON.
    text += b" " * (-(LENGTH.size + len(text)) % PAGE)
    return LENGTH.pack(len(text)) + text, LENGTH.size + len(text) + max((end for _, end in places.values()), default=0)


def place_tensors(tensors: Mapping[str, tuple[str, Shape]]) -> dict[str, tuple[int, int]]:
    """Where the bytes of each tensor (name -> dtype name and shape) begin and end, counted from the end of the header.

    Wide dtypes come first, and names in their order: the layout does not depend on that of the caller.
    """
    places: dict[str, tuple[int, int]] = {}
    at = 0
    for name in sorted(tensors, key=lambda name: (-DTYPES[tensors[name][0]].itemsize, name)):
        dtype, shape = tensors[name]
        places[name] = at, at + prod(shape) * DTYPES[dtype].itemsize
        at = places[name][1]
    return places


def header_length(start: bytes, size: int) -> int:
    """Bytes of JSON after the first 8 bytes of a file of ``size`` bytes. Raises DataError if the file cannot have them.

    ``start`` are those first bytes.
    """
    if len(start) < LENGTH.size:
        raise DataError(f"expected a safetensors file, got only {len(start)} bytes")
    (length,) = LENGTH.unpack(start)
    if length > min(LARGEST, size - LENGTH.size):
        raise DataError(
            f"expected a header that fits into {size} bytes, got one of {length}: cut short, or another format"
        )
    return int(length)


def parse_header(text: bytes, size: int) -> SafetensorsHeader:
    """Parse the JSON of a file of ``size`` bytes.

    Raises DataError for malformed JSON or fields, and unless the tensors tile the rest of the file.
    """
    fields = _parse_header_json(text)
    metadata = fields.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise DataError(f"{_METADATA}: expected strings by name, got {metadata!r:.80}")
    for word in (*fields, *metadata, *metadata.values()):
        _check_text(word)
    start = LENGTH.size + len(text)
    tensors = {name: _parse_tensor(name, field, start) for name, field in fields.items()}
    _check_tiling(tensors, start, size)
    return SafetensorsHeader(tensors, metadata, size)


def _parse_header_json(text: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(text.decode(), object_pairs_hook=_unique_fields)
    except (ValueError, RecursionError, MemoryError) as error:  # JSON may be nested too deeply for the parser
        raise DataError(f"expected a header in JSON, got {error}") from None
    if not isinstance(fields, dict):
        raise DataError(f"expected a header with named tensors, got {type(fields).__name__}")
    return fields


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # json.loads alone would keep the last of several equal names and hide the others.
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a duplicate name")
    return found


def _check_text(word: str) -> None:
    # JSON can escape half of a surrogate pair ("\ud800"): such a string parses but cannot be written as UTF-8.
    try:
        word.encode()
    except UnicodeEncodeError:
        raise DataError(f"expected names in UTF-8, got {word!a:.40}") from None


def _parse_tensor(name: str, field: Any, start: int) -> StoredTensor:
    if not isinstance(field, dict) or set(field) != {"dtype", "shape", "data_offsets"}:
        raise DataError(f"{name}: expected dtype, shape and data_offsets, got {field!r:.80}")
    dtype = field["dtype"]
    shape = field["shape"]
    offsets = field["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise DataError(f"{name}: expected dtype {', '.join(DTYPES)}, got {dtype!r:.40}; convert the checkpoint")
    if not _are_extents(shape) or not _are_extents(offsets) or len(offsets) != 2:
        raise DataError(f"{name}: expected a shape and two offsets, got {shape!r:.40} and {offsets!r:.40}")
    tensor = StoredTensor(dtype, tuple(shape), start + offsets[0])
    if offsets[1] - offsets[0] != tensor.nbytes:
        raise DataError(f"{name}: expected {tensor.nbytes} bytes for its shape, got {offsets[1] - offsets[0]}")
    return tensor


def _are_extents(value: Any) -> bool:
    if not isinstance(value, list) or len(value) > _LARGEST_RANK:
        return False
    # Not isinstance: JSON's true and false become bool, which is a subclass of int.
    return all(type(n) is int and 0 <= n <= _LARGEST_EXTENT for n in value)


def _check_tiling(tensors: Mapping[str, StoredTensor], start: int, size: int) -> None:
    at = start
    # An empty tensor starts where the next one does: with the bytes in the key it is checked first.
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].offset, item[1].nbytes)):
        if tensor.offset != at:
            what = "an overlap" if tensor.offset < at else "a gap"
            raise DataError(f"{name}: expected its first byte at {at}, got {what}: {tensor.offset}")
        at += tensor.nbytes
    if at != size:
        raise DataError(f"expected {at} bytes, got {size}: the file was cut short or something was appended")
