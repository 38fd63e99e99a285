"""Files that are either there as a whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Opens a temporary beside ``path`` for writing and renames it to ``path`` when the block ends well.

    If the block raises, nothing is left behind. Several writers of one path do not disturb each other:
    the last to finish wins. The folder is made if it is missing. An OSError without a file, as of a full disk, gets
    ``path``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        with open(partial, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)
