"""ByteSource: the base class of the files that data is read from: their size, and their bytes by offset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from netpart.errors import DataError

BLOCK = 1 << 20
"""Bytes per read when a whole file is scanned."""
AHEAD = 1 << 12
"""Bytes per read when a few bytes at rising offsets are requested."""


class ByteSource(ABC):
    """An open file. ``size`` is its size in bytes when it was opened; ``path`` names it in messages.

    ``version`` differs between two contents of one path; "" if nothing distinguishes them.
    """

    size: int
    version: str = ""
    stride: ClassVar[int] = BLOCK
    """Bytes per read of ``blocks``."""

    def __init__(self, path: object) -> None:
        self.path = path

    @abstractmethod
    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes ``start`` to ``stop`` (excluded), 0 <= start <= stop.

        Raises DataError if the file ends before ``stop`` or cannot be read, ValueError if it is closed.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the file; closing twice does nothing."""

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, bytes) of all blocks of the file in order."""
        for start in range(0, self.size, self.stride):
            yield start, self.read(start, min(start + self.stride, self.size))

    def truncated(self, wanted: int, now: int) -> DataError:
        """The error of a file of which ``wanted`` bytes are requested, and which has ``now`` bytes."""
        expected = max(wanted, self.size)
        return DataError(
            f"{self.path}: expected {expected} bytes, got {now}: it was truncated while it was read; write it anew"
        )


class ReadAhead:
    """Reader of a few bytes at a time at rising offsets of ``file``, with few system calls."""

    def __init__(self, file: ByteSource) -> None:
        self._file = file
        self._start = 0
        self._content = b""

    def read(self, at: int, count: int) -> bytes:
        """Return ``count`` bytes, at most AHEAD, from offset ``at`` on."""
        first = at - self._start
        if not 0 <= first <= len(self._content) - count:
            self._content = self._file.read(at, min(at + AHEAD, self._file.size))
            self._start, first = at, 0
        return self._content[first : first + count]
