"""GatheredWrites: writes to a file, joined where they follow each other, that bypass the page cache of the system.

    write(…) write(…)   ──▶   first page │ whole pages                         │ last page
                              cached     │ O_DIRECT: the disk reads the block  │ cached

A cached write copies the bytes into new pages, which the system clears, writes later and frees: five times the
processor time of a direct one. Nobody reads a checkpoint soon. Where a file system has no O_DIRECT, all is cached.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from netpart.checkpoint.header import PAGE

BLOCK = 1 << 20
"""Bytes that are gathered at most, and from which an array is not gathered, if it lies in its pages as in the file."""
LARGEST = 4 << 20
"""Bytes of one call of ``write`` at most, and a page: few enough to be in a cache still, after they were scanned."""
FEWEST = 128 << 10
"""Bytes from which a direct write takes less processor time."""
REFUSED = errno.EINVAL, errno.EOPNOTSUPP
"""Numbers of errors of a file system that cannot do direct writes, or not these."""


class GatheredWrites:
    """Writes to the open file ``plain``. ``flush`` writes what is gathered; ``close`` comes before that of the file."""

    def __init__(self, plain: int) -> None:
        self.plain = plain
        self.direct = -1
        self.block: NDArray[np.uint8] = np.empty(0, np.uint8)
        # The bytes from ``first`` to ``end`` of the block belong into the file at ``base + first``.
        self.base = self.first = self.end = 0

    def write(self, part: NDArray[np.uint8], at: int) -> None:
        """Write bytes, an array of one axis, at offset ``at``, now or later. Raises OSError."""
        if not len(self.block):
            self._begin()
        if at != self.base + self.end:
            self.flush()
        if len(part) >= BLOCK and (lies_in_pages(part, at) or self.direct < 0):
            part, at = self._write_now(part, at)
        self._gather(part, at)

    def flush(self) -> None:
        """Write what is gathered. Raises OSError."""
        first, end = self.first, self.end
        self.first = self.end = 0
        low, high = -(-first // PAGE) * PAGE, end // PAGE * PAGE
        if high - low < FEWEST:
            low = high = end
        self._write_cached(self.block[first:low], self.base + first)
        self._write_pages(self.block[low:high], self.base + low)
        self._write_cached(self.block[high:end], self.base + high)

    def close(self) -> None:
        """Forget what is gathered."""
        self._refrain()
        self.block = np.empty(0, np.uint8)
        self.first = self.end = 0

    def _begin(self) -> None:
        self.block = allocate_as_in_file(BLOCK, 0)
        with suppress(OSError):
            # By its number and not by its path: this is the same file, also if it was renamed or removed meanwhile.
            self.direct = os.open(f"/proc/self/fd/{self.plain}", os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC)

    def _refrain(self) -> None:
        """Do no more direct writes."""
        if self.direct >= 0:
            os.close(self.direct)
        self.direct = -1

    def _gather(self, part: NDArray[np.uint8], at: int) -> None:
        while len(part):
            if self.first == self.end:
                self.base = at // PAGE * PAGE
                self.first = self.end = at - self.base
            n = min(len(part), len(self.block) - self.end)
            # As memoryviews, which keep the lock of the interpreter: to pass it on for a small copy takes longer.
            self.block.data[self.end : self.end + n] = part[:n].data
            self.end += n
            part, at = part[n:], at + n
            if self.end == len(self.block):
                self.flush()

    def _write_now(self, part: NDArray[np.uint8], at: int) -> tuple[NDArray[np.uint8], int]:
        """Write all whole pages; return the rest, and where it belongs."""
        head = -at % PAGE
        self._gather(part[:head], at)
        self.flush()
        end = head + (len(part) - head) // PAGE * PAGE
        self._write_pages(part[head:end], at + head)
        return part[end:], at + end

    def _write_pages(self, part: NDArray[np.uint8], at: int) -> None:
        if self.direct < 0:
            self._write_cached(part, at)
            return
        try:
            _write_all(self.direct, part, at)
        except OSError as error:
            if error.errno not in REFUSED:
                raise
            # A file system may refuse only now.
            self._refrain()
            self._write_cached(part, at)

    def _write_cached(self, part: NDArray[np.uint8], at: int) -> None:
        _write_all(self.plain, part, at)


def lies_in_pages(part: NDArray[np.uint8], at: int) -> bool:
    """True if bytes lie in the pages of memory as in those of a file, at offset ``at``."""
    return (part.ctypes.data - at) % PAGE == 0


def allocate_as_in_file(nbytes: int, at: int) -> NDArray[np.uint8]:
    """Memory for bytes that belong at offset ``at`` of a file: if they are many, it lies in its pages as they do."""
    if nbytes < BLOCK:
        return np.empty(nbytes, np.uint8)
    # As much again as the system rounds up for an array of this size.
    room = np.empty(nbytes + PAGE, np.uint8)
    first = (at - room.ctypes.data) % PAGE
    return room[first : first + nbytes]


def _write_all(file: int, part: NDArray[np.uint8], at: int) -> None:
    while len(part):
        done = os.pwrite(file, part.data, at)
        if not done:
            raise OSError(errno.EIO, "a write of no bytes")
        part, at = part[done:], at + done
