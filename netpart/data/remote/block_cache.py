"""BlockCache: blocks of remote files on disk, shared by all processes of a user on this machine."""

from __future__ import annotations

import os
import time
import zlib
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from threading import get_ident
from typing import NamedTuple

from netpart.data.remote.url_path import UrlSettings
from netpart.errors import FULL, DataError, os_error_text
from netpart.resources import user_cache_folder

BLOCK = 1 << 20
"""Bytes of a block; the last one of a file may be shorter."""
CHECK = 4
"""Bytes of the checksum at the end of a block's file."""
_SHARE = 64
"""A cache writes the share 1/_SHARE of its room before it counts its files again."""
_USED = 60
"""Seconds after which the time of the last use of a block is noted again."""
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_ABANDONED = 600
"""Seconds after which a temporary file belongs to a writer that was killed."""


class _KeptFile(NamedTuple):
    """A file of the cache; the one with the lowest ``used`` is removed first."""

    used: int
    size: int
    path: str


class BlockCache:
    """Files of one block each, at most ``room`` bytes in all; those that were not used for longest are removed.

    A block is written under a name of its own and renamed when complete, and has a checksum: readers see a whole block
    or none, also after a crash. Raises DataError if ``folder`` cannot be used. A full disk only ends the writing.
    """

    def __init__(self, folder: Path, room: int) -> None:
        self.folder = folder
        self._place = str(folder)
        self.room = room
        self._unchecked = room  # more than is allowed: the first write counts the files
        self._full = room < BLOCK + CHECK
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._require_own()
        except OSError as error:
            raise self._unusable(os_error_text(error)) from None

    def open_block(self, key: str, block: int, length: int) -> int | None:
        """Open a block of ``length`` bytes; None if it is not kept. The caller closes the descriptor."""
        # A call per read of rows in random order: hence plain text and as few calls of the system as possible.
        try:
            descriptor = os.open(f"{self._place}/{key}/{block}", _FLAGS)
        except OSError:
            return None
        status = os.fstat(descriptor)
        if status.st_size != length + CHECK or not S_ISREG(status.st_mode):
            os.close(descriptor)
            return None
        if time.time() - status.st_mtime > _USED:
            with suppress(OSError):
                os.utime(descriptor)
        return descriptor

    def read_block(self, key: str, block: int, length: int) -> bytes | None:
        """The content of a block of ``length`` bytes; None if it is not kept, or damaged."""
        descriptor = self.open_block(key, block, length)
        if descriptor is None:
            return None
        try:
            return os.pread(descriptor, length, 0) if is_intact(descriptor, length) else None
        finally:
            os.close(descriptor)

    def put(self, key: str, block: int, content: bytes) -> None:
        """Keep a block if there is room for it."""
        if self._full:
            return
        path = self._path(key, block)
        partial = path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}.partial")
        try:
            self._make_room(len(content) + CHECK)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial.write_bytes(content + _checksum(content))
            os.replace(partial, path)
        except OSError as error:
            self._full = True
            if error.errno not in FULL:
                raise self._unusable(os_error_text(error)) from None
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)

    def _make_room(self, count: int) -> None:
        """Remove what was not used for longest, if ``count`` more bytes may not fit."""
        self._unchecked += count
        reserve = max(self.room // _SHARE, count)
        if self._unchecked < reserve:
            return
        kept = sorted(_kept_files(self.folder)) if self.folder.is_dir() else []
        surplus = sum(file.size for file in kept) + reserve - self.room
        for file in kept:
            if surplus <= 0:
                break
            with suppress(OSError):  # another process may have removed it
                os.unlink(file.path)
            surplus -= file.size
        self._unchecked = count

    def _path(self, key: str, block: int) -> Path:
        return self.folder / key / str(block)

    def _require_own(self) -> None:
        """Raise DataError for a folder of another user, who could put other data into it."""
        if self.folder.stat().st_uid != os.getuid():
            raise self._unusable("one of another user")

    def _unusable(self, got: str) -> DataError:
        hint = "name another in data_cache.folder, or write data_cache { mib: 0 }"
        return DataError(f"{self.folder}: expected a folder to keep data in, got {got}; {hint}")


def cache_key(*parts: object) -> str:
    """A name for the blocks of a file; it does not show the URL, which may be signed."""
    return sha256("\0".join(map(str, parts)).encode()).hexdigest()[:32]


def is_intact(descriptor: int, length: int) -> bool:
    """True if the open file of a block of ``length`` bytes has the content of its checksum."""
    content = os.pread(descriptor, length + CHECK, 0)
    return len(content) == length + CHECK and _checksum(content[:length]) == content[length:]


def open_block_cache(settings: UrlSettings) -> BlockCache | None:
    """The cache of a job; None if it wants none. Raises DataError if its folder cannot be used."""
    return _shared_cache(settings.folder or _default_folder(), settings.room) if settings.room else None


@cache
def _shared_cache(folder: Path, room: int) -> BlockCache:
    """One cache for all files of this process: its count of what was written keeps the bound."""
    return BlockCache(folder, room)


def _default_folder() -> Path:
    """The folder of the cache, if the job names none."""
    return user_cache_folder("data")


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(CHECK, "little")


def _kept_files(folder: Path) -> list[_KeptFile]:
    """All files of the cache; temporaries that their writers abandoned come first."""
    found = []
    for place in os.scandir(folder):
        with suppress(OSError):
            for entry in os.scandir(place.path) if place.is_dir(follow_symlinks=False) else ():
                found += _kept_file(entry)
    return found


def _kept_file(entry: os.DirEntry[str]) -> list[_KeptFile]:
    with suppress(OSError):
        status = entry.stat(follow_symlinks=False)
        partial = entry.name.endswith(".partial")
        if partial and time.time() - status.st_mtime > _ABANDONED:
            os.unlink(entry.path)
        elif not partial:
            return [_KeptFile(status.st_mtime_ns, status.st_size, entry.path)]
    return []
