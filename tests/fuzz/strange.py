"""Strange files: what a path may lead to that is no file with a beginning and an end."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from random import Random

HUGE = (1 << 24, 1 << 31, 1 << 36, 1 << 40)
"""Sizes of files that are holes."""


def pipe(path: Path, content: bytes, draw: Random) -> None:
    """A pipe into which nobody writes."""
    os.mkfifo(path)


def folder(path: Path, content: bytes, draw: Random) -> None:
    """A folder."""
    path.mkdir()


def zeros(path: Path, content: bytes, draw: Random) -> None:
    """A device without an end."""
    path.symlink_to(draw.choice(("/dev/zero", "/dev/full", "/dev/urandom", "/dev/null", "/dev/tty")))


def memory(path: Path, content: bytes, draw: Random) -> None:
    """Files of the kernel: they say that they are empty, and are not, or cannot be read."""
    path.symlink_to(draw.choice(("/proc/self/mem", "/proc/self/maps", "/proc/kmsg", "/proc/self/environ")))


def circle(path: Path, content: bytes, draw: Random) -> None:
    """A link to itself."""
    path.symlink_to(path.name)


def nowhere(path: Path, content: bytes, draw: Random) -> None:
    """A link to nothing."""
    path.symlink_to("absent")


def listener(path: Path, content: bytes, draw: Random) -> None:
    """A socket."""
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's name is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def hole(path: Path, content: bytes, draw: Random) -> None:
    """A huge file of zeros, with some of its content in front, that takes no room."""
    path.write_bytes(draw.choice((b"", content)))
    os.truncate(path, draw.choice(HUGE))


def absent(path: Path, content: bytes, draw: Random) -> None:
    """Nothing."""


KINDS: tuple[Callable[[Path, bytes, Random], None], ...] = (
    pipe, folder, zeros, memory, circle, nowhere, listener, hole, hole, absent,
)  # fmt: skip


def clear(path: Path) -> None:
    """Removes whatever is at ``path``."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
