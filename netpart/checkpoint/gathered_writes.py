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
from mmap import mmap

import numpy as np
from numpy.typing import NDArray

PAGE = 4096
"""Addresses, offsets and counts of direct writes are multiples of this: no disk has larger sectors."""
BLOCK = 2 << 20
"""Bytes that are gathered at most."""
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
        """Write bytes, an array of one axis, at offset ``at``, now or later."""
        if not len(self.block):
            self._begin()
        if at != self.base + self.end:
            self.flush()
        while len(part):
            if self.first == self.end:
                self.base = at // PAGE * PAGE
                self.first = self.end = at - self.base
            n = min(len(part), len(self.block) - self.end)
            self.block[self.end : self.end + n] = part[:n]
            self.end += n
            part, at = part[n:], at + n
            if self.end == len(self.block):
                self.flush()

    def flush(self) -> None:
        """Write what is gathered. Raises OSError."""
        first, end = self.first, self.end
        self.first = self.end = 0
        low, high = -(-first // PAGE) * PAGE, end // PAGE * PAGE
        if self.direct < 0 or high - low < FEWEST:
            low = high = end
        self._write_all(self.plain, first, low)
        done = self._write_direct(low, high)
        self._write_all(self.plain, done, end)

    def close(self) -> None:
        """Forget what is gathered."""
        if self.direct >= 0:
            os.close(self.direct)
        self.direct, self.block = -1, np.empty(0, np.uint8)
        self.first = self.end = 0

    def _begin(self) -> None:
        self.block = np.frombuffer(mmap(-1, BLOCK), np.uint8)  # begins with a page, as direct writes need
        with suppress(OSError):
            # By its number and not by its path: this is the same file, also if it was renamed or removed meanwhile.
            self.direct = os.open(f"/proc/self/fd/{self.plain}", os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC)

    def _write_direct(self, low: int, high: int) -> int:
        """Write whole pages; return the end of those that were written. A file system may refuse after all."""
        try:
            self._write_all(self.direct, low, high)
        except OSError as error:
            if error.errno not in REFUSED:
                raise
            os.close(self.direct)
            self.direct = -1
            return low
        return high

    def _write_all(self, file: int, low: int, high: int) -> None:
        while low < high:
            low += os.pwrite(file, self.block[low:high].data, self.base + low)
