"""Process limits: whether a run fits the limits of its processes. Checked before ZeroMQ meets a limit, as it would
abort."""

from __future__ import annotations

import os
import resource

from netpart.errors import MemoryRefused, NetpartError
from netpart.units import bytes_text, plural_text
from netpart.worker.memory_limit import RESERVE, free_address_space

FIXED, PER_MEMBER = 24, 6
"""File descriptors of a process of a run: a fixed number, and more for each member (connections, processes, memory)."""


def check_process_limits(members: int) -> None:
    """Raise NetpartError if this process, or one that it starts, may not have the resources of a run of ``members``.

    The resources are file descriptors, and address space for threads (MemoryRefused).
    """
    _check_descriptors(members)
    left = free_address_space()
    if left is not None and left < RESERVE:
        hint = "raise it in the shell that starts this: `ulimit -v unlimited`"
        expected = f"{bytes_text(RESERVE)} of address space for threads and libraries"
        raise MemoryRefused(f"memory: expected {expected}, got {bytes_text(left)} left under its limit; {hint}")


def _check_descriptors(members: int) -> None:
    """Raise NetpartError if the limit of file descriptors is too low for a run of ``members``."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = len(os.listdir("/proc/self/fd")) + FIXED + PER_MEMBER * members
    if limit != resource.RLIM_INFINITY and needed > limit:
        fewer = "" if members == 1 else ", or use fewer workers"
        above = "" if most == resource.RLIM_INFINITY or most >= needed else " as an administrator"
        expected = f"{needed} of them for {plural_text(members, 'worker')}"
        hint = f"raise it{above} in the shell that starts this: `ulimit -n {needed}`{fewer}"
        raise NetpartError(f"file descriptors: expected {expected}, got a limit of {limit}; {hint}")
