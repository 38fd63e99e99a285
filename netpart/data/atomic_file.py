"""Atomic writing of files: a file exists with all of its content or not at all."""

from __future__ import annotations

import fcntl
import glob
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file in the folder of ``path`` for writing and rename it to ``path`` when the block ends well.

    If the block raises, the temporary is removed. Several writers of one path do not disturb each other: the last one
    to finish wins. The folder is created if it is missing. An OSError without a file name, such as that of a full disk,
    gets ``path`` as its file name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(path)
    # In the same folder, as a rename is atomic only within a file system. The name is unique per writer.
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        with _open_locked(partial) as file:
            yield file
            file.flush()
            # Before the rename: else a crash of the host could leave the new name with old or empty content.
            os.fsync(file.fileno())
            os.replace(partial, path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


def _open_locked(partial: Path) -> BinaryIO:
    """Open a temporary and lock it, to mark it as in use. If another writer removes it before, open it again."""
    while True:
        file = open(partial, "wb")  # noqa: SIM115 - its owner closes it
        if _try_lock(file):
            # Between open and lock, ``_remove_stale`` of another writer may have unlinked the file: a lock on a file
            # without a name protects nothing.
            with suppress(FileNotFoundError):
                if _is_same_file(partial, file):
                    return file
        file.close()


def _try_lock(file: BinaryIO) -> bool:
    """Lock a temporary; False if ``_remove_stale`` of another writer holds the lock and will remove the file."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: there ``_remove_stale`` removes nothing either
        pass
    return True


def _remove_stale(path: Path) -> None:
    """Remove the temporaries of ``path`` that no process has locked: their writers were killed."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        with suppress(OSError), open(left, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The name may belong to a new file by now, if the writer has finished and another one has started.
            if _is_same_file(left, file):
                left.unlink()


def _is_same_file(path: Path, file: BinaryIO) -> bool:
    """True if ``path`` is the open ``file``. Raises OSError if ``path`` does not exist."""
    return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
