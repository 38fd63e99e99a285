"""Input files: every file that netpart reads is opened here, by one rule.

It must be a regular file. A pipe, a device or a socket may have no end, or may block its reader.
It is read and never memory-mapped. If a mapped file shrinks meanwhile, an access to it ends the process (SIGBUS); a
read only returns fewer bytes.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

from netpart.units import bytes_text

WHOLE = 16 << 20
"""Default limit of ``read_file``, in bytes."""
KINDS = (
    (stat.S_ISDIR, errno.EISDIR, "a folder"),
    (stat.S_ISFIFO, errno.EINVAL, "a pipe; save what it brings in a file"),
    (stat.S_ISCHR, errno.EINVAL, "a device"),
    (stat.S_ISBLK, errno.EINVAL, "a device"),
)
"""Kinds of files that are refused: the test, the error number, and the words for the message."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_url(name: str) -> bool:
    """True if ``name`` is a URL and not a path of this machine."""
    return _URL.match(name) is not None


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open the regular file at ``path`` and return its descriptor.

    Raises OSError if there is no such file or it may not be opened; ``errors.os_error_text`` puts it in words.
    """
    try:
        # O_NONBLOCK: opening a named pipe would otherwise block until a process opens its other end.
        # O_NOCTTY: opening a terminal could make it the controlling terminal of this process.
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except ValueError as error:
        raise OSError(errno.EINVAL, "a name that no file has", str(path)) from error
    except OSError as error:
        raise _explain_socket(error, path) from None
    # The check comes after the open, on the descriptor: a check of the path could be outrun by a rename.
    try:
        _require_regular(descriptor, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _require_regular(descriptor: int, path: Path) -> None:
    """Raise OSError if the open file ``descriptor`` is a folder, a pipe or a device."""
    mode = os.fstat(descriptor).st_mode
    for is_kind, number, name in KINDS:
        if is_kind(mode):
            raise OSError(number, name, str(path))


def _explain_socket(error: OSError, path: Path) -> OSError:
    """``error`` of opening ``path``, replaced if that is a socket: the system reports "No such device" (ENXIO) then."""
    if error.errno == errno.ENXIO and path.is_socket():
        return OSError(errno.EINVAL, "a socket", str(path))
    return error


def open_file(path: Path) -> BinaryIO:
    """Open the regular file at ``path`` for reading. Raises OSError as ``open_regular`` does."""
    return open(open_regular(path), "rb")


def file_size(path: Path) -> int:
    """Size of the regular file at ``path`` in bytes. Raises OSError as ``open_regular`` does."""
    with open_file(path) as file:
        return os.fstat(file.fileno()).st_size


def read_file(path: Path, most: int = WHOLE) -> bytes:
    """The content of the regular file at ``path``, at most ``most`` bytes.

    Raises OSError as ``open_regular`` does, and for a file of more than ``most`` bytes.
    """
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"more than {bytes_text(most)}", str(path))
        # Files of /proc and /sys have size 0, and a read of some blocks (/proc/kmsg): they count as empty.
        return file.read(size) if size else b""
