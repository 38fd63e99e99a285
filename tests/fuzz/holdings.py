"""Holdings: what a process holds of its host, so that what a case leaves behind is seen."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from threading import Event
from time import monotonic

PATIENCE = 3.0
"""Seconds in which a thread that has nothing left to do has ended, and what it held is let go of."""
SHARED = ("/memfd:", "/dev/shm/")
Held = dict[str, int]


def held() -> Held:
    """File descriptors, threads and children of this process, and shared memory that it has mapped."""
    maps = Path("/proc/self/maps").read_text()
    return {
        "file descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "processes": len(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()),
        "pieces of shared memory": sum(map(maps.count, SHARED)),
    }


def more(now: Held, before: Held) -> str:
    """What is held now and was not before, in words; "" if nothing is."""
    return ", ".join(f"{now[name] - before[name]} {name}" for name in now if now[name] > before[name])


def left_behind(before: Held) -> str:
    """What is held beyond ``before`` and does not go away; "" if nothing is."""
    if not more(held(), before):
        return ""
    end = monotonic() + PATIENCE
    while True:
        in_time = monotonic() < end
        # Before the look: a collection takes seconds in a process that has run thousands of tests.
        gc.collect()
        found = more(held(), before)
        if not found or not in_time:
            return found
        Event().wait(0.005)


def resident() -> int:
    """Bytes of memory that this process has touched."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
