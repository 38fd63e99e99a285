"""What a process may still allocate."""

from __future__ import annotations

import resource
from pathlib import Path

RESERVE = 96 << 20
"""Bytes of address space for what is not planned: threads, their stacks and arenas, BLAS, ZeroMQ, Python's objects."""


def available_memory() -> int | None:
    """Bytes of address space left under RLIMIT_AS, None without a limit or where it cannot be read."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return max(0, limit - pages * resource.getpagesize())
