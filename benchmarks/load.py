"""Load by other processes: processor time that neither this process nor those that it started have used.

The load average of the system cannot be used for this: it counts the benchmark itself.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep

from benchmarks.machine import children
from netpart.errors import ConfigError

QUIET = 0.1
"""Cores that other processes may use while something is timed: an idle system uses a few hundredths."""
LOOK_SECONDS = 2.0
"""Seconds for which a machine is watched before anything is timed."""
BUSY = "user", "nice", "system", "steal"
"""The columns that count. Not interrupts: no process can be named for them, and the benchmark's messages cause some."""
COLUMNS = "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"
"""The first of the columns of /proc/stat, as proc(5) has them."""
TICKS = os.sysconf("SC_CLK_TCK")


class LoadedMachineError(ConfigError):
    """Other processes use the machine, so timings on it would be too long."""


@dataclass
class Watch:
    """Watches the load of the machine, from the moment it is created."""

    began: float = field(default_factory=perf_counter)
    machine: float | None = field(default_factory=lambda: machine_seconds())
    own: float = field(default_factory=lambda: tree_seconds(os.getpid()))

    def others(self) -> float | None:
        """Cores that other processes have used since, on average; None if the system does not count processor time."""
        machine, seconds = machine_seconds(), perf_counter() - self.began
        if machine is None or self.machine is None or not seconds:
            return None
        return max(0.0, (machine - self.machine) - (tree_seconds(os.getpid()) - self.own)) / seconds


def machine_seconds() -> float | None:
    """Processor seconds used since the system started, including those that a host took from a virtual machine."""
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
    """True if other processes are known to have used more than QUIET cores."""
    return cores is not None and cores > QUIET


def expect_quiet(cores: Iterable[float | None], what: str) -> None:
    """Raise LoadedMachineError if one of ``cores``, the loads during ``what``, is more than QUIET."""
    most = max((found for found in cores if found is not None), default=0.0)
    if loaded(most):
        total, hint = os.cpu_count(), "`top` shows what else runs: end it, or wait, and give the same command again"
        kept = "what has been measured stays; --loaded measures all the same and marks the figures"
        got = f"{most:.2f} of {total} cores in use by other processes"
        raise LoadedMachineError(
            what, f"a quiet machine, at most {QUIET:g} cores in use by others", got, f"{hint} ({kept})"
        )


def add_loaded_option(parser: argparse.ArgumentParser) -> None:
    """Add --loaded, the ``anyhow`` of ``begin_watch``."""
    parser.add_argument("--loaded", action="store_true", help="measure on a busy machine, too; the load is recorded")


def begin_watch(what: str, anyhow: bool) -> Watch:
    """A watch from now on. On a busy machine the command ends with a message, unless it measures ``anyhow``."""
    if not anyhow:
        try:
            expect_quiet([look()], what)
        except LoadedMachineError as error:
            sys.exit(f"{error}")
    return Watch()


def look(seconds: float = LOOK_SECONDS) -> float | None:
    """Cores that other processes use now, measured for ``seconds``."""
    watch = Watch()
    sleep(seconds)
    return watch.others()
