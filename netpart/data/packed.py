"""How long a file is that gzip has packed, or not, held against what it is to hold: before any of that is read."""

from __future__ import annotations

from pathlib import Path

from netpart.errors import DataError
from netpart.files import file_size

DEFLATED = 1032
"""Bytes that one of gzip stands for at most."""
SLACK = 1 << 20
"""Bytes that a packed file may be longer than what is in it, whose packing takes a few in a thousand."""


def check_length(path: Path, least: int, whole: int) -> None:
    """Raises DataError for a file at ``path`` that cannot hold ``least`` bytes or, packed (.gz), is much longer than
    the ``whole`` of its content; OSError if it cannot be opened."""
    length, packed = file_size(path), path.suffix == ".gz"
    room = length * DEFLATED if packed else length
    if least > room:
        raise DataError(f"{path}: expected {least} bytes, got room for {room}: truncated? Copy the file anew")
    if packed and length > whole + whole // 100 + SLACK:
        raise DataError(f"{path}: expected {whole} bytes, packed, got a file of {length}; copy the file anew")
