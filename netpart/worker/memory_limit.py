"""Memory limit: how much a process may still allocate."""

from __future__ import annotations

import ctypes
import resource
from contextlib import suppress
from pathlib import Path

RESERVE = 96 << 20
"""Bytes of address space for everything that is not planned: threads, their stacks and arenas, BLAS, ZeroMQ, Python
objects."""
MEMINFO = Path("/proc/meminfo")
CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Files with the memory limit of a container in bytes; the second one is that of cgroups version 1."""


def available_memory(held: int = 0, mapped: int = 0) -> int | None:
    """Bytes that this process may have in addition to the ``held`` ones, which it may not have touched yet; None if
    unknown.

    The lower of two limits counts. One is the address space left under RLIMIT_AS, which also includes ``mapped`` bytes
    of other processes. The other is the memory of the host for all its processes.
    """
    host = host_memory_limit()
    space = free_address_space()
    limits = None if space is None else max(0, space - mapped), None if host is None else max(0, host - held)
    return min((limit for limit in limits if limit is not None), default=None)


def free_address_space() -> int | None:
    """Bytes of address space left under RLIMIT_AS; None without a limit or if it cannot be read."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return max(0, limit - pages * resource.getpagesize())


def resident_memory() -> int:
    """Bytes of memory that this process holds, with Python and its libraries; 0 if unknown."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def return_free_memory() -> None:
    """Give the system back what the C library keeps of memory that was freed; nothing if it has no such call."""
    # glibc keeps what is freed below memory that is still in use, such as the arrays from which values were drawn.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def host_memory_limit() -> int | None:
    """Bytes that all processes of this host may have together, used or free; None if unknown.

    It is the installed memory, or the limit of the container if that is lower.
    """
    limits = _installed_memory(), _container_memory()
    return min((limit for limit in limits if limit is not None), default=None)


def _installed_memory() -> int | None:
    """Bytes of this host's memory and swap."""
    try:
        rows = dict(line.split(":") for line in MEMINFO.read_text().splitlines())
        return sum(int(rows[row].split()[0]) << 10 for row in ("MemTotal", "SwapTotal"))
    except (OSError, ValueError, KeyError):
        return None


def _container_memory() -> int | None:
    """Bytes that the container may have in all, if this is one with a limit."""
    for path in CONTAINER:
        with suppress(OSError, ValueError):  # "max" means no limit
            return int(path.read_text())
    return None
