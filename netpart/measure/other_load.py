"""Load of other processes: the processor time that neither this process nor those that it has ended have used."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

DISTURBED = 0.15
"""Cores that others may use while something is measured: a quiet system uses a few hundredths."""
BUSY = (0, 1, 2, 7)
"""The columns of /proc/stat (proc(5)) that count: user, nice, system, and what a host took from a virtual machine."""
TICKS = os.sysconf("SC_CLK_TCK")
STATISTICS = Path("/proc/stat")


@dataclass
class OtherLoad:
    """The load of other processes since this object was made."""

    began: float = field(default_factory=perf_counter)
    machine: float | None = field(default_factory=lambda: _machine_seconds())
    own: float = field(default_factory=lambda: _own_seconds())

    def cores(self) -> float:
        """Cores that others have used on average; 0 if the system does not count them."""
        now = _machine_seconds()
        taken = perf_counter() - self.began
        if self.machine is None or now is None or taken < 2 / TICKS:
            return 0.0
        return max(0.0, (now - self.machine) - (_own_seconds() - self.own)) / taken


def _machine_seconds() -> float | None:
    """Processor seconds of all processes since the system started; None if it does not count them."""
    with suppress(OSError, ValueError, IndexError):
        ticks = [int(text) for text in STATISTICS.read_text(encoding="utf-8").splitlines()[0].split()[1:]]
        return sum(ticks[column] for column in BUSY) / TICKS
    return None


def _own_seconds() -> float:
    """Processor seconds of this process and of its ended children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
