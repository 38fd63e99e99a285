"""Files that are either there as a whole or not at all."""

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
    """Opens a temporary beside ``path`` for writing and renames it to ``path`` when the block ends well.

    If the block raises, nothing is left behind. Several writers of one path do not disturb each other:
    the last to finish wins. The folder is made if it is missing. An OSError without a file, as of a full disk, gets
    ``path``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        with _open_locked(partial) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(partial, path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


def _open_locked(partial: Path) -> BinaryIO:
    """Opens a temporary and locks it: it has an owner. One that was swept away before it had one is made anew."""
    while True:
        file = open(partial, "wb")  # noqa: SIM115 - its owner closes it
        if _try_lock(file):
            with suppress(FileNotFoundError):
                if _is_same_file(partial, file):
                    return file
        file.close()


def _try_lock(file: BinaryIO) -> bool:
    """Locks a temporary; False if somebody who sweeps has it, who will remove it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: nobody sweeps either
        pass
    return True


def _remove_stale(path: Path) -> None:
    """Removes the temporaries of ``path`` that nobody has locked: their writers were killed."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        with suppress(OSError), open(left, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_same_file(left, file):  # and not another one of that name, of a writer that has ended one meanwhile
                left.unlink()


def _is_same_file(path: Path, file: BinaryIO) -> bool:
    """True if ``path`` is the open ``file``. Raises OSError if nothing is there."""
    return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
