"""What a process may still allocate."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

RESERVE = 96 << 20
"""Bytes of address space for what is not planned: threads, their stacks and arenas, BLAS, ZeroMQ, Python's objects."""
MEMINFO = Path("/proc/meminfo")
CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where a container says in bytes what all its processes may have; the second until cgroups version 2."""


def available_memory(held: int = 0, mapped: int = 0) -> int | None:
    """Bytes that this process may have besides the ``held`` ones, which it may not have touched yet: what is left of
    its address space under RLIMIT_AS, where it also sees ``mapped`` ones of others, and no more than its host has for
    everybody. None if nobody says."""
    host = host_memory_limit()
    space = free_address_space()
    limits = None if space is None else max(0, space - mapped), None if host is None else max(0, host - held)
    return min((limit for limit in limits if limit is not None), default=None)


def free_address_space() -> int | None:
    """Bytes of address space left under RLIMIT_AS, None without a limit or where it cannot be read."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return max(0, limit - pages * resource.getpagesize())


def host_memory_limit() -> int | None:
    """Bytes that all processes of this host may have together, used or free: what is installed, and what a container
    that this may be allows of it. None if nobody says."""
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
    """Bytes that the container, if this is one with a limit, may have in all."""
    for path in CONTAINER:
        with suppress(OSError, ValueError):  # "max" is none
            return int(path.read_text())
    return None
