"""Checks of the length of files that may be gzipped, before their content is read."""

from __future__ import annotations

from netpart.data.open_bytes import open_bytes
from netpart.data.remote.url_path import DataPath
from netpart.errors import DataError

DEFLATED = 1032
"""Largest number of bytes that one byte of a gzip file can expand to (the limit of deflate)."""
TRAILER = 8
"""Bytes at the end of a gzip file: a checksum and a length."""


def is_gzipped(path: DataPath) -> bool:
    """True for a file with the suffix of gzip."""
    return path.suffix == ".gz"


def checked_file_length(path: DataPath) -> int:
    """Return the length of the file at ``path`` in bytes, as stored. Raises OSError if it cannot be opened.

    Raises DataError for a gzip file that ends in zeros, as a crash of the host can leave it: the gzip module of Python
    would read these one by one.
    """
    file = open_bytes(path)
    try:
        if is_gzipped(path) and file.size > TRAILER and not any(file.read(file.size - TRAILER, file.size)):
            raise DataError(f"{path}: expected a gzip file, got one that ends in zeros; copy the file anew")
        return file.size
    finally:
        file.close()


def refuse_short_file(path: DataPath, least: int) -> None:
    """Raise DataError if the file at ``path`` cannot hold ``least`` bytes, OSError if it cannot be opened."""
    # For a gzip file this is an upper bound: it detects gross truncation without unpacking anything.
    room = checked_file_length(path) * (DEFLATED if is_gzipped(path) else 1)
    if least > room:
        raise DataError(f"{path}: expected {least} bytes, got room for {room}; copy the file anew")
