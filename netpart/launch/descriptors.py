"""File descriptors: what a run will open, held against what its processes may, before the first of them starts."""

from __future__ import annotations

import os
import resource

from netpart.errors import NetpartError
from netpart.units import counted

FIXED, PER_MEMBER = 40, 4
"""Descriptors of a process of a run, and what it has more of for each member: connections, processes, shared memory."""


def check_descriptors(members: int) -> None:
    """Raises NetpartError if this process, or one that it starts, may not open what a run of ``members`` takes."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = len(os.listdir("/proc/self/fd")) + FIXED + PER_MEMBER * members
    if limit != resource.RLIM_INFINITY and needed > limit:
        fewer = "" if members == 1 else ", or use fewer workers"
        above = "" if most == resource.RLIM_INFINITY or most >= needed else " as an administrator"
        expected = f"{needed} of them for {counted(members, 'worker')}"
        hint = f"raise it{above} in the shell that starts this: `ulimit -n {needed}`{fewer}"
        raise NetpartError(f"file descriptors: expected {expected}, got a limit of {limit}; {hint}")
