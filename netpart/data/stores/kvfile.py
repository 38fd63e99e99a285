"""SINGA's KVFile format: records ``[key length][key][value length][value]`` without a header.

Lengths are 8 bytes, little-endian. For older versions of SINGA the path is a folder that contains ``shard.dat``.
"""

from __future__ import annotations

import struct
from array import array
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.atomic_file import atomic_file
from netpart.data.byte_source import ByteSource, ReadAhead
from netpart.data.remote.url_path import DataPath
from netpart.data.signatures import HEAD, guess_file_kind
from netpart.data.stores.record import Record, encode_record
from netpart.data.stores.record_store import RecordStore
from netpart.errors import DataError

_LENGTH = struct.Struct("<Q")
LARGEST = 1 << 30
"""Largest number of bytes of a key or a value."""


class KvStore(RecordStore):
    """A KVFile for reading; ``path`` may be the folder of a ``shard.dat``."""

    def __init__(self, path: DataPath) -> None:
        super().__init__(path / "shard.dat" if path.is_dir() else path)

    def _scan(self, file: ByteSource) -> NDArray[np.int64]:
        spans = array("q")
        ahead = ReadAhead(file)
        at = 0
        while at < file.size:
            record = at
            for part in ("key", "value"):
                start, at = self._part(file, ahead, at, part, record, len(spans) // 4)
                spans.extend((start, at))
        return np.frombuffer(spans, np.int64).reshape(-1, 4)

    def _part(
        self, file: ByteSource, ahead: ReadAhead, at: int, part: str, record: int, number: int
    ) -> tuple[int, int]:
        """The (start, stop) of the key or value whose length is at byte ``at``; raises DataError.

        ``record`` is the offset of the record, ``number`` its number.
        """
        start = at + _LENGTH.size
        if start > file.size:
            raise self._cut(file, at, f"the length of a {part} (8 bytes)", f"{file.size - at} more", record, number)
        (length,) = _LENGTH.unpack(ahead.read(at, _LENGTH.size))
        # Compared with the rest of the file first: a corrupt length must not become an allocation.
        if length > file.size - start:
            raise self._cut(file, start, f"a {part} of {length} bytes", f"{file.size - start} more", record, number)
        if length > LARGEST or (not length and part == "value"):
            wanted = f"a {part} of 1 to {LARGEST} bytes"
            raise self._cut(file, at, wanted, f"one of {length}", record, number)
        return start, start + length

    def _cut(self, file: ByteSource, at: int, expected: str, got: str, record: int, number: int) -> DataError:
        """Return the error of a malformed record; the hint depends on whether whole records precede it."""
        kind, use = guess_file_kind(file.read(0, min(HEAD, file.size))) if number == 0 else ("", "")
        if kind:
            return DataError(f"{self.path}: expected a kvfile, got {kind}; {use}")
        hint = f"`truncate --size={record}` keeps the {number} whole records before it" if number else "is it a kvfile?"
        return DataError(f"{self.path}: byte {at}, record {number}: expected {expected}, got {got}; {hint}")


class KvWriter:
    """Writer of a KVFile. Used as a context manager; the file appears at ``path`` only if the block ends well.

    kRecordInput reads what ``add`` writes. A file that is at ``path`` already stays until the block ends.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = path = Path(path)
        self._keys: set[bytes] = set()
        self._stack = ExitStack()
        self._file = self._stack.enter_context(atomic_file(path))

    def add(self, array: NDArray[Any], label: int = 0) -> None:
        """Append a row with its label as RecordProto: uint8 as bytes, all else as float32. Its key is its number.

        Raises DataError for an array that is empty, or that has no numbers.
        """
        if not array.size or array.dtype.kind not in "biuf":
            got = f"{array.dtype} of shape {array.shape}"
            raise DataError(f"{self.path}: record {len(self._keys)}: expected numbers, got {got}; convert it")
        self.put(b"%08d" % len(self._keys), encode_record(Record.from_array(array, label)))

    def put(self, key: bytes, value: bytes) -> None:
        """Append a record. Raises DataError if the key exists already or the value is empty."""
        if key in self._keys or not value:
            problem, hint = ("a key only once", "omit this record") if value else ("a value", "write no empty records")
            raise DataError(f"{self.path}: expected {problem}, got key {key!r} with {len(value)} bytes; {hint}")
        self._keys.add(key)
        self._file.write(_LENGTH.pack(len(key)) + key + _LENGTH.pack(len(value)) + value)

    def __enter__(self) -> KvWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, at)
