"""FileBytes: the bytes of a file of this machine by their offset, read on request."""

from __future__ import annotations

import os
import time
from pathlib import Path
from weakref import finalize

from netpart.data.byte_source import ByteSource
from netpart.errors import DataError, os_error_text
from netpart.files import open_file

SETTLED = 2.0
"""Seconds after its last change from which on the time of a file distinguishes its versions: file systems round it."""


class FileBytes(ByteSource):
    """A file that is open for reading; ``size`` is its size in bytes when it was opened. Several threads may read it.

    It is closed when the object is collected. Raises OSError if it cannot be opened (see ``netpart.files``).
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file = open_file(path)
        status = os.fstat(self._file.fileno())
        self.size = status.st_size
        self.version = _local_version(status)
        finalize(self, self._file.close)

    def read(self, start: int, stop: int) -> bytes:
        content = self._read(start, stop - start)
        # A read may return fewer bytes than requested, for example on a network file system or above 2 GiB.
        while len(content) < stop - start:
            more = self._read(start + len(content), stop - start - len(content))
            if not more:
                raise self.truncated(stop, os.fstat(self._file.fileno()).st_size)
            content += more
        return content

    def close(self) -> None:
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


def _local_version(status: os.stat_result) -> str:
    """What distinguishes the versions of a file; "" for one that changed just now, as it may do so again unnoticed."""
    if abs(time.time() - status.st_mtime) < SETTLED:
        return ""
    return f"{status.st_dev} {status.st_ino} {status.st_mtime_ns} {status.st_ctime_ns}"
