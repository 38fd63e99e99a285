"""FileBytes: the bytes of a file by their places, read as they are asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from weakref import finalize

from netpart.errors import DataError, os_error_text
from netpart.files import open_file

BLOCK = 1 << 20
"""Bytes that are read together where a whole file is gone through."""
AHEAD = 1 << 12
"""Bytes that are read together where a few are looked at, here and there."""


class FileBytes:
    """A file that is open for reading; ``size`` is what it had in bytes then. Threads may read it at the same time.

    It is closed with its last reference. Raises OSError if it cannot be opened (see ``netpart.files``).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_file(path)
        self.size = os.fstat(self._file.fileno()).st_size
        finalize(self, self._file.close)

    def read(self, start: int, stop: int) -> bytes:
        """The bytes ``start`` to ``stop`` (excluded), 0 <= start <= stop.

        Raises DataError for a file that ends before, and ValueError for one that is closed.
        """
        content = self._read(start, stop - start)
        while len(content) < stop - start:
            more = self._read(start + len(content), stop - start - len(content))
            if not more:
                raise self._truncated(stop)
            content += more
        return content

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """All bytes in order, some at a time, each with the place of the first."""
        for start in range(0, self.size, BLOCK):
            yield start, self.read(start, min(start + BLOCK, self.size))

    def close(self) -> None:
        """Closes the file; closing twice does nothing."""
        self._file.close()

    def _read(self, start: int, count: int) -> bytes:
        """Up to ``count`` bytes from ``start``; none at the end of the file."""
        try:
            return os.pread(self._file.fileno(), count, start)
        except OSError as error:
            raise DataError(f"{self.path}: byte {start}: expected {count} more, got {os_error_text(error)}") from error

    def _truncated(self, wanted: int) -> DataError:
        expected = max(wanted, self.size)
        now = os.fstat(self._file.fileno()).st_size
        return DataError(
            f"{self.path}: expected {expected} bytes, got {now}: it was truncated while it was read; write it anew"
        )


class ReadAhead:
    """Reads a few bytes at a time at rising places of ``file``, with few calls."""

    def __init__(self, file: FileBytes) -> None:
        self._file = file
        self._start = 0
        self._content = b""

    def read(self, at: int, count: int) -> bytes:
        """``count`` bytes, at most AHEAD, that the file has from ``at`` on."""
        first = at - self._start
        if not 0 <= first <= len(self._content) - count:
            self._content = self._file.read(at, min(at + AHEAD, self._file.size))
            self._start, first = at, 0
        return self._content[first : first + count]
