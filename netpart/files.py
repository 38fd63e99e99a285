"""Files from outside: every file that netpart reads is opened here, by one rule.

It is a regular file. A pipe, a device or a socket may have no end, or make its reader wait.
And it is read, never mapped: of a file that shrinks meanwhile there is less to read, where memory would end the process
(SIGBUS).
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from netpart.units import bytes_text

WHOLE = 16 << 20
"""Bytes of a text that is read whole, unless its reader knows better."""
KINDS = (
    (stat.S_ISDIR, errno.EISDIR, "a folder"),
    (stat.S_ISFIFO, errno.EINVAL, "a pipe; save what it brings in a file"),
    (stat.S_ISCHR, errno.EINVAL, "a device"),
    (stat.S_ISBLK, errno.EINVAL, "a device"),
)
"""What is no regular file, and how an error calls it."""


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of the regular file at ``path``.

    Raises OSError, which ``errors.came`` puts in words, where there is none, or it may not be opened.
    """
    try:
        # A pipe would wait for its other end, and a terminal would become ours.
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except ValueError as error:
        raise OSError(errno.EINVAL, "a name that no file has", str(path)) from error
    except OSError as error:
        raise _explain_socket(error, path) from None
    try:
        _require_regular(descriptor, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _require_regular(descriptor: int, path: Path) -> None:
    """Raises OSError for an open file that is not a regular one."""
    mode = os.fstat(descriptor).st_mode
    for is_kind, number, name in KINDS:
        if is_kind(mode):
            raise OSError(number, name, str(path))


def _explain_socket(error: OSError, path: Path) -> OSError:
    """``error`` of opening ``path``, in words if that is a socket: the system speaks of devices then."""
    if error.errno == errno.ENXIO and path.is_socket():
        return OSError(errno.EINVAL, "a socket", str(path))
    return error


def open_file(path: Path) -> BinaryIO:
    """The regular file at ``path`` for reading. Raises OSError as ``open_regular``."""
    return open(open_regular(path), "rb")


def file_size(path: Path) -> int:
    """Bytes of the regular file at ``path``, which can be opened. Raises OSError as ``open_regular``."""
    with open_file(path) as file:
        return os.fstat(file.fileno()).st_size


def read_file(path: Path, most: int = WHOLE) -> bytes:
    """The content of the regular file at ``path``: as many bytes as it says it has, so that a file of the kernel, which
    may wait for something to say, is empty. Raises OSError as ``open_regular``, and for more than ``most`` bytes."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"more than {bytes_text(most)}", str(path))
        return file.read(size) if size else b""
