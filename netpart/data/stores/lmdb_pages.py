"""Pages of an LMDB file, format version 1 (LMDB 0.9), as far as reading of all keys in order needs them.

LMDB itself maps its file into memory: a truncated file then ends the process (SIGBUS), and a corrupt one may as well.
Here pages are read, and every number in them is checked before it is used. Numbers are little-endian, of 64-bit builds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from netpart.data.byte_source import ByteSource
from netpart.errors import DataError

MAGIC, VERSION = 0xBEEFC0DE, 1
HEADER = 16
"""Bytes of the header of a page: number, flags, and the bounds of its free space."""
PAGE_SIZES = [1 << bits for bits in range(8, 17)]
EMPTY = (1 << 64) - 1
"""The root of a database without records."""
_BRANCH, _LEAF = 0x01, 0x02
_BIG, _NESTED = 0x01, 0x02 | 0x04
_META = struct.Struct("<II16xI92xQQ")
"""Magic, version, (address, size of the map), page size, (both databases), last page, transaction."""
_ROOT_AT = HEADER + 24 + 48 + 40
_PAGE = struct.Struct("<10xHH")
_NODE = struct.Struct("<HHHH")
_NUMBER = struct.Struct("<Q")


class LmdbMeta(NamedTuple):
    """What a meta page says: the size of pages, the last one, the number of the transaction, the root of the keys."""

    size: int
    last: int
    transaction: int
    root: int


class RecordSpan(NamedTuple):
    """Half-open byte ranges of a key and of its value."""

    key: int
    key_stop: int
    value: int
    value_stop: int


def read_lmdb_meta(file: ByteSource) -> LmdbMeta | None:
    """The newest meta page of ``file``; None if it is not an LMDB file of this format."""
    first = _parse_meta(file, 0)
    if first is None:
        return None
    return max(filter(None, (first, _parse_meta(file, first.size))), key=lambda meta: meta.transaction)


def _parse_meta(file: ByteSource, at: int) -> LmdbMeta | None:
    page = file.read(at, min(at + HEADER + _META.size, max(file.size, at)))
    if len(page) < HEADER + _META.size:
        return None
    magic, version, size, last, transaction = _META.unpack_from(page, HEADER)
    if (magic, version) != (MAGIC, VERSION) or size not in PAGE_SIZES:
        return None
    return LmdbMeta(size, last, transaction, _NUMBER.unpack_from(page, _ROOT_AT)[0])


class LmdbPages:
    """The tree of the keys of an LMDB file. Raises DataError, with the page, where it is malformed."""

    def __init__(self, file: ByteSource, meta: LmdbMeta) -> None:
        self._file = file
        self._meta = meta

    def spans(self) -> Iterator[RecordSpan]:
        """Yield the byte ranges of all records in the order of the keys."""
        waiting = [] if self._meta.root == EMPTY else [self._meta.root]
        left = self._meta.last + 1
        while waiting:
            # A tree has no more pages than the file: a circle of pages ends here.
            left -= 1
            number = waiting.pop()
            if left < 0:
                raise self._malformed(number, "a tree of pages", "a circle")
            children = list[int]()
            yield from self._nodes(number, children)
            waiting += reversed(children)

    def _nodes(self, number: int, children: list[int]) -> Iterator[RecordSpan]:
        """Yield the records of a leaf; add the pages below a branch to ``children``."""
        page = self._page(number)
        flags, lower = _PAGE.unpack_from(page)
        if flags not in (_BRANCH, _LEAF) or not HEADER <= lower <= len(page):
            raise self._malformed(number, "a page of keys", f"flags {flags:#x}")
        for at in struct.unpack_from(f"<{(lower - HEADER) // 2}H", page, HEADER):
            if at + _NODE.size > len(page):
                raise self._malformed(number, "a record in the page", f"offset {at}")
            low, high, more, key = _NODE.unpack_from(page, at)
            if flags == _BRANCH:
                children.append(low | high << 16 | more << 32)
            else:
                yield self._record(number, page, at, low | high << 16, more, key)

    def _record(self, number: int, page: bytes, at: int, length: int, flags: int, key: int) -> RecordSpan:
        """The byte ranges of the record whose node is at ``at`` of ``page``."""
        start = number * self._meta.size + at + _NODE.size
        if flags & _NESTED:
            raise self._malformed(number, "one value per key", "a database in the database, or several values of a key")
        value = start + key
        if at + _NODE.size + key + (_NUMBER.size if flags & _BIG else length) > len(page):
            raise self._malformed(number, "a record in the page", f"a key of {key} and a value of {length} bytes")
        if flags & _BIG:
            value = HEADER + self._meta.size * _NUMBER.unpack_from(page, at + _NODE.size + key)[0]
        if value + length > self._file.size:
            raise self._malformed(number, f"a value of {length} bytes", f"{max(self._file.size - value, 0)} more")
        return RecordSpan(start, start + key, value, value + length)

    def _page(self, number: int) -> bytes:
        start = number * self._meta.size
        if start + self._meta.size > self._file.size:
            raise self._malformed(number, f"{number + 1} pages", f"{self._file.size // self._meta.size}")
        return self._file.read(start, start + self._meta.size)

    def _malformed(self, number: int, expected: str, got: str) -> DataError:
        hint = "copy the store anew, when nobody writes it"
        return DataError(f"{self._file.path}: page {number}: expected {expected}, got {got}; {hint}")
