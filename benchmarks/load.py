"""How busy others keep the machine: processor time that neither this process took nor those that it has started.

The load average of the system does not tell this: it counts the benchmark itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep

from benchmarks.machine import children
from netpart.errors import ConfigError

QUIET = 0.1
"""Cores that others may use while something is timed: a steady system uses a few hundredths for itself."""
LOOK_SECONDS = 2.0
"""How long a machine is watched before anything is timed."""
BUSY = "user", "nice", "system", "steal"
"""What counts. Interrupts do not: nobody can say for whom they came, and messages of the benchmark bring them too."""
COLUMNS = "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"
"""The first of the columns of /proc/stat, as proc(5) has them."""
TICKS = os.sysconf("SC_CLK_TCK")


class LoadedMachineError(ConfigError):
    """Others keep the machine busy, so that what is timed on it would be too long."""


@dataclass
class Watch:
    """Watches the machine from when it is made."""

    began: float = field(default_factory=perf_counter)
    machine: float | None = field(default_factory=lambda: machine_seconds())
    own: float = field(default_factory=lambda: tree_seconds(os.getpid()))

    def others(self) -> float | None:
        """Cores that others have used since, on average; None where the system does not count processor time."""
        machine, seconds = machine_seconds(), perf_counter() - self.began
        if machine is None or self.machine is None or not seconds:
            return None
        return max(0.0, (machine - self.machine) - (tree_seconds(os.getpid()) - self.own)) / seconds


def machine_seconds() -> float | None:
    """Processor seconds that anything has used since the system began, those that a host took from it included."""
    try:
        first, *_ = Path("/proc/stat").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    ticks = dict(zip(COLUMNS, map(int, first.split()[1:]), strict=False))
    return sum(ticks.get(name, 0) for name in BUSY) / TICKS or None


def tree_seconds(process: int) -> float:
    """Processor seconds of a process, of those that it has started, and of theirs, ended ones included."""
    return own_seconds(process) + sum(tree_seconds(child) for child in children(process))


def own_seconds(process: int) -> float:
    """Processor seconds of a process and of its ended children; 0 if it has ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    return sum(map(int, stat.rpartition(")")[2].split()[11:15])) / TICKS


def loaded(cores: float | None) -> bool:
    """True if others are known to have used more than a quiet machine's share."""
    return cores is not None and cores > QUIET


def expect_quiet(cores: Iterable[float | None], what: str) -> None:
    """Raises LoadedMachineError if others used more than QUIET of the ``cores`` at any time while ``what``."""
    most = max((found for found in cores if found is not None), default=0.0)
    if loaded(most):
        total, hint = os.cpu_count(), "`top` shows what else runs: end it, or wait, and give the same command again"
        kept = "what has been measured stays; --loaded measures all the same and marks the figures"
        got = f"{most:.2f} of {total} cores in use by other processes"
        raise LoadedMachineError(
            what, f"a quiet machine, at most {QUIET:g} cores in use by others", got, f"{hint} ({kept})"
        )


def look(seconds: float = LOOK_SECONDS) -> float | None:
    """Cores that others use now."""
    watch = Watch()
    sleep(seconds)
    return watch.others()
