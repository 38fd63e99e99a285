"""UrlBytes: the bytes of a file at a URL by their offset, read by ranges, and once per block."""

from __future__ import annotations

import os
from collections import OrderedDict
from functools import partial
from threading import RLock
from weakref import finalize

from netpart.data.byte_source import ByteSource
from netpart.data.remote.attempts import request_repeatedly
from netpart.data.remote.block_cache import BLOCK, BlockCache, cache_key, is_intact, open_block_cache
from netpart.data.remote.file_systems import Fetch, FileFacts, checked_range, find_file_facts, open_ranges
from netpart.data.remote.url_path import UrlPath

RUN = 8
"""Largest number of blocks per request."""
OPENED = 256
"""Largest number of blocks that are kept open per file."""


class UrlBytes(ByteSource):
    """A file at a URL; ``size`` is its size in bytes when it was opened. Several threads may read it.

    Its server is asked for ``facts`` if they are not given. Raises FileNotFoundError if it does not exist, DataError if
    its server refuses it or does not give it in time.
    """

    stride = RUN * BLOCK

    def __init__(self, url: UrlPath, facts: FileFacts | None = None) -> None:
        super().__init__(url)
        self._url = url
        self.size, self.version = facts or _request_file_facts(url)
        self._fetch: Fetch | None = None
        self._key = cache_key(url.address, self.size, self.version)
        # Without a version a later file of the same size would be taken for this one.
        self._cache = _open_cache(url) if self.version else None
        self._lock = RLock()
        self._recent = dict[int, bytes]()
        self._opened = OrderedDict[int, int]()
        self._intact = set[int]()
        finalize(self, _close_all, self._opened)

    def read(self, start: int, stop: int) -> bytes:
        if stop > self.size:
            raise self.truncated(stop, self.size)
        if start >= stop:
            return b""
        with self._lock:
            last = (stop - 1) // BLOCK
            blocks = range(start // BLOCK, last + 1)
            found = b"".join([self._piece(n, max(start - n * BLOCK, 0), stop - n * BLOCK, last) for n in blocks])
            # The last block is kept: the next read often starts in it, and the cache may be full or not wanted.
            self._recent = {n: part for n, part in self._recent.items() if n == last}
            return found

    def close(self) -> None:
        with self._lock:
            _close_all(self._opened)
            self._recent = {}

    def _piece(self, block: int, first: int, stop: int, last: int) -> bytes:
        """The bytes ``first`` to ``stop`` of a block; blocks up to ``last`` are fetched with it if they are missing."""
        if block in self._recent:
            return self._recent[block][first:stop]
        descriptor = self._descriptor(block)
        if descriptor is not None:
            return os.pread(descriptor, min(stop, self._length(block)) - first, first)
        self._recent = self._fetch_run(block, last)
        return self._recent[block][first:stop]

    def _descriptor(self, block: int) -> int | None:
        """The open file of a block in the cache; None if it is not there, or damaged."""
        if block in self._opened:
            self._opened.move_to_end(block)
            return self._opened[block]
        descriptor = self._cache.open_block(self._key, block, self._length(block)) if self._cache else None
        if descriptor is None:
            return None
        if block not in self._intact and not is_intact(descriptor, self._length(block)):
            os.close(descriptor)
            return None
        self._intact.add(block)
        self._opened[block] = descriptor
        if len(self._opened) > OPENED:
            os.close(self._opened.popitem(last=False)[1])
        return descriptor

    def _fetch_run(self, first: int, last: int) -> dict[int, bytes]:
        """Fetch the blocks from ``first`` up to ``last``, or to the next one that is kept, in one request."""
        end = first + 1
        while end <= min(last, first + RUN - 1) and self._descriptor(end) is None:
            end += 1
        start = first * BLOCK
        stop = min(end * BLOCK, self.size)
        content = request_repeatedly(self._url, f"bytes {start} to {stop}", partial(self._range, start, stop))
        found = {n: content[n * BLOCK - start : (n + 1) * BLOCK - start] for n in range(first, end)}
        for block, part in found.items() if self._cache else ():
            self._cache.put(self._key, block, part)  # type: ignore[union-attr]
        return found

    def _range(self, start: int, stop: int) -> bytes:
        """Request a range once. Its reader is opened then: that of a file in the cache is never needed."""
        if self._fetch is None:
            self._fetch = open_ranges(self._url, self.size)
        return checked_range(self._fetch(start, stop), start, stop)

    def _length(self, block: int) -> int:
        return min(BLOCK, self.size - block * BLOCK)


def _request_file_facts(url: UrlPath) -> FileFacts:
    """Ask a server for the size and version of a file. Raises as UrlBytes does."""
    return request_repeatedly(url, "the size of a file", partial(find_file_facts, url))


def _open_cache(url: UrlPath) -> BlockCache | None:
    """The cache of a URL; None if its job wants none, or if the data is in the memory of this process."""
    return None if url.protocol == "memory" else open_block_cache(url.settings)


def _close_all(opened: OrderedDict[int, int]) -> None:
    while opened:
        os.close(opened.popitem()[1])
