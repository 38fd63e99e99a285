"""Python's standard library as one text: about 30 MB that exist on every machine that runs netpart."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from netpart.data.atomic_file import atomic_file
from netpart.errors import DataError

ADDED = ("site-packages", "dist-packages")
"""Folders below the standard library that contain installed packages."""


def make_python_source(path: Path) -> int:
    """Write every ``*.py`` file of the standard library to ``path``, one after another, sorted by their paths.

    Returns the number of bytes written; 0 if the file exists already. Raises DataError if Python was installed without
    its source.
    """
    if path.exists():
        return 0
    library = Path(sysconfig.get_path("stdlib"))
    files = [file for file in sorted(library.rglob("*.py")) if not set(ADDED) & set(file.relative_to(library).parts)]
    if not files:
        raise DataError(
            f"{library}: expected the source of Python's library, got none; install it, or use another text"
        )
    with atomic_file(path) as out:
        return sum(out.write(file.read_bytes()) for file in files)
