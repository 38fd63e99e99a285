"""Files that gzip may have packed, held against what they are to hold: before any of that is read."""

from __future__ import annotations

from pathlib import Path

from netpart.errors import DataError
from netpart.files import open_file

DEFLATED = 1032
"""Bytes that one of gzip stands for at most."""
TRAILER = 8
"""Bytes at its end: a checksum and a length."""


def _is_gzipped(path: Path) -> bool:
    """True for a file whose name says that gzip has packed it."""
    return path.suffix == ".gz"


def checked_file_length(path: Path) -> int:
    """Bytes of the file at ``path``. Raises OSError if it cannot be opened, DataError for a packed one that ends in
    zeros, as after a crash of its host: Python's gzip goes through them one by one."""
    with open_file(path) as file:
        length = file.seek(0, 2)
        file.seek(max(0, length - TRAILER))
        if _is_gzipped(path) and length > TRAILER and not any(file.read()):
            raise DataError(f"{path}: expected a gzip file, got one that ends in zeros; copy the file anew")
        return length


def refuse_short_file(path: Path, least: int) -> None:
    """Raises DataError for a file at ``path`` that cannot hold ``least`` bytes; OSError if it cannot be opened."""
    room = checked_file_length(path) * (DEFLATED if _is_gzipped(path) else 1)
    if least > room:
        raise DataError(f"{path}: expected {least} bytes, got room for {room}: truncated? Copy the file anew")
