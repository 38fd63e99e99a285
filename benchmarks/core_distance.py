"""Distance of two cores: how long a piece of memory takes from one to the other, and a wait until that is short.

    python -m benchmarks.core_distance              microseconds of one handover

A virtual machine does not keep its place: for some seconds or minutes its host runs two of its cores on different
chips, or on parts of one chip with caches of their own. Products are as fast as before. But a word that one core writes
takes six times as long to the other one, and 256 KiB two and a half times. A step of LeNet on two threads then takes 11
ms instead of 7, PyTorch's becomes longer, too, and nothing in the machine counts it. So a run of several threads or
processes is repeated if its cores were apart.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from mmap import PAGESIZE, mmap
from time import perf_counter, sleep
from typing import Any, TypeVar

import numpy as np

from benchmarks.machine import printed

BYTES = 256 << 10
"""Bytes that are handed over: they fit the second-level cache of a core."""
HANDOVERS, TRIES = 40, 5
"""Handovers that are timed together, and how often: the quickest count, for other processes only make them slower."""
APART = 1.7
"""How many times longer than the quickest so far a handover takes between cores that are apart."""
RUNS, PATIENCE, PAUSE = 5, 20.0, 0.5
"""The runs at most until the cores are near after one, and the seconds for which they are waited for before each run,
with a pause between two looks. Runs that together take longer than PATIENCE are not repeated: they meet all states."""
DEADLINE = 10.0
"""Seconds for which one of the two processes waits for the other."""

T = TypeVar("T")


@dataclass
class NearCores:
    """Repeats runs after which two cores are apart. ``repeated`` counts the runs that do not count for that, and
    ``accepted`` those that do all the same. ``quickest`` is the least time of a handover so far, in seconds."""

    measure: Callable[[], float]
    quickest: float = float("inf")
    repeated: int = 0
    accepted: int = 0

    def apart(self) -> bool:
        """True if a handover takes longer now than it took before."""
        found = self.measure()
        self.quickest = min(self.quickest, found)
        return found > APART * self.quickest

    def wait(self) -> None:
        """Wait until the cores are near, for PATIENCE seconds."""
        end = perf_counter() + PATIENCE
        while self.apart() and perf_counter() < end:
            sleep(PAUSE)

    def counts(self) -> dict[str, int]:
        """What the settings of a result say of this."""
        return {"repeated_as_cores_were_apart": self.repeated, "counted_though_cores_were_apart": self.accepted}

    def steady(self, run: Callable[[], T]) -> T:
        """The result of ``run``, which is called again if the cores were apart after it."""
        taken = 0.0
        for left in reversed(range(RUNS)):
            self.wait()
            began = perf_counter()
            found = run()
            taken += perf_counter() - began
            if not self.apart():
                return found
            if not left or taken > PATIENCE:
                break
            self.repeated += 1
        self.accepted += 1
        return found


def handover_seconds() -> float:
    """Seconds of a handover between two new processes on any two cores; 0 on a machine of one core."""
    return float(printed("from benchmarks.core_distance import main; main()", 1)) / 1e6 if _several_cores() else 0.0


NEAR_CORES = NearCores(handover_seconds)
"""The cores of this machine."""


def main() -> int:
    """Print the microseconds of a handover."""
    memory = mmap(-1, PAGESIZE + BYTES)
    turn = np.frombuffer(memory, np.int32, 1)
    data = np.frombuffer(memory, np.float32, BYTES // 4, PAGESIZE)
    other = os.fork()
    if not other:
        _take_turns(turn, data, 1, TRIES * HANDOVERS)
        os._exit(0)
    found = [_take_turns(turn, data, 0, HANDOVERS) / (2 * HANDOVERS) for _ in range(TRIES)]
    os.waitpid(other, 0)
    print(f"{min(found) * 1e6:.2f}")
    return 0


def _take_turns(turn: Any, data: Any, mine: int, times: int) -> float:
    """Write ``data`` whenever ``turn`` is ``mine``, ``times`` times, and give the turn to the other process; seconds.

    Ends the process if the other one does not answer.
    """
    began = perf_counter()
    for _ in range(times):
        end = perf_counter() + DEADLINE
        while turn[0] != mine:
            if perf_counter() > end:
                os._exit(1)
        np.add(data, 1, out=data)
        turn[0] = 1 - mine
    return perf_counter() - began


def _several_cores() -> bool:
    return len(os.sched_getaffinity(0)) > 1


if __name__ == "__main__":
    sys.exit(main())
