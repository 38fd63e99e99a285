"""Product speed: how fast a core multiplies now, and whether that is slower than when this host was calibrated.

The cores of a virtual machine are shared with other machines for some seconds at a time, which no counter shows.
Products of matrices take longer then, and so does all that is timed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

SLOWED = 1.2
"""How many times longer than at its calibrated speed a product may take."""
PATIENCE = 4.0
"""Seconds that a process waits for its core in all."""


def product_call(n: int = 256) -> tuple[Callable[[], object], float]:
    """A product of two n×n float32 matrices, and its FLOPs. The same is timed in the calibration and after it."""
    a = np.full((n, n), 0.5, np.float32)
    out = np.empty_like(a)
    return lambda: np.matmul(a, a, out=out), 2.0 * n**3


def product_speed(n: int = 256, tries: Sequence[int] = range(5)) -> float:
    """FLOPs per second of a product of matrices; the best of a few tries."""
    multiply, flops = product_call(n)
    return flops / quickest_seconds(multiply, tries)


def quickest_seconds(work: Callable[[], object], tries: Sequence[int]) -> float:
    """The least time, in seconds, that ``work`` took in a few tries; other processes can only make it slower."""
    best = float("inf")
    for _ in tries:
        started = perf_counter()
        work()
        best = min(best, perf_counter() - started)
    return best


@dataclass
class CoreWait:
    """A wait until this core multiplies at ``speed``, FLOPs per second, again: ``patience`` seconds in all.

    Products of a process with several threads are faster than the calibrated core, so it does not wait.
    """

    speed: float
    patience: float = PATIENCE

    def is_slowed(self) -> bool:
        """True if the core is slower now than it was when it was calibrated."""
        return product_speed(tries=range(3)) * SLOWED < self.speed

    def wait(self) -> bool:
        """Wait while the core is slowed; True if it still was at the first look."""
        began = perf_counter()
        slowed = False
        while self.patience > perf_counter() - began and self.is_slowed():
            slowed = True
        self.patience -= (perf_counter() - began) * slowed
        return slowed
