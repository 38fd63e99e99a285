"""FileBytes: the bytes of a file by their offset, read on request."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from weakref import finalize

from netpart.errors import DataError, os_error_text
from netpart.files import open_file

BLOCK = 1 << 20
"""Bytes per read when a whole file is scanned."""
AHEAD = 1 << 12
"""Bytes per read when a few bytes at rising offsets are requested."""


class FileBytes:
    """A file that is open for reading; ``size`` is its size in bytes when it was opened. Several threads may read it.

    It is closed when the object is collected. Raises OSError if it cannot be opened (see ``netpart.files``).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_file(path)
        self.size = os.fstat(self._file.fileno()).st_size
        finalize(self, self._file.close)

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes ``start`` to ``stop`` (excluded), 0 <= start <= stop.

        Raises DataError if the file ends before ``stop``, ValueError if it is closed.
        """
        content = self._read(start, stop - start)
        # A read may return fewer bytes than requested, for example on a network file system or above 2 GiB.
        while len(content) < stop - start:
            more = self._read(start + len(content), stop - start - len(content))
            if not more:
                raise self._truncated(stop)
            content += more
        return content

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, bytes) of all blocks of the file in order."""
        for start in range(0, self.size, BLOCK):
            yield start, self.read(start, min(start + BLOCK, self.size))

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        self._file.close()

    def _read(self, start: int, count: int) -> bytes:
        """Up to ``count`` bytes from ``start``; none at the end of the file."""
        # pread, not seek and read: threads share the file, and pread does not use its position.
        try:
            return os.pread(self._file.fileno(), count, start)
        except OSError as error:
            place = f"{self.path}: byte {start}"
            raise DataError(
                f"{place}: expected {count} more, got {os_error_text(error)}; copy the file anew"
            ) from error

    def _truncated(self, wanted: int) -> DataError:
        expected = max(wanted, self.size)
        now = os.fstat(self._file.fileno()).st_size
        return DataError(
            f"{self.path}: expected {expected} bytes, got {now}: it was truncated while it was read; write it anew"
        )


class ReadAhead:
    """Reader of a few bytes at a time at rising offsets of ``file``, with few system calls."""

    def __init__(self, file: FileBytes) -> None:
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
