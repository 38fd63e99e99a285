"""Crossovers, where one scheme becomes faster than another: predicted by docs/schemes.md, and measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log

from benchmarks.mlp import CLASSES, Work

Pair = tuple[float, float]


@dataclass(frozen=True)
class Sweep:
    """Works along which the second scheme of ``pair`` is expected to become cheaper than the first, or never."""

    pair: tuple[str, str]
    along: str
    claim: str
    at: tuple[int, ...]
    work: Callable[[int], Work]


def square(width: int, batch: int, workers: int = 2) -> Work:
    """Four products: three of ``width`` on as many inputs, and one of CLASSES."""
    return Work((width, width, width, width, CLASSES), batch, workers, steps=1, rate=0.1 / width)


def waist(width: int, middle: int, batch: int) -> Work:
    """A first pair with few neurons between its products; a second one from ``width`` over ``middle`` to CLASSES.

    In the first pair COLUMN_ROW always sends less; with 16 neurons there the difference is negligible.
    """
    return Work((width, 16, width, middle, CLASSES), batch, 2, steps=1, rate=0.1 / max(width, middle))


SWEEPS = (
    Sweep(
        ("GATHER_SCATTER", "DATA"), "batch", "DATA sends less iff b > d, here d = 512",
        (128, 256, 512, 1024, 2048, 4096), lambda b: square(512, b),
    ),
    Sweep(
        ("GATHER_SCATTER", "COLUMN_ROW"), "d_mid", "COLUMN_ROW sends less iff d_mid > d_in, here d_in = 1024",
        (256, 512, 1024, 2048, 4096), lambda d: waist(1024, d, 256),
    ),
    Sweep(
        ("ALTSPLIT", "NAIVE"), "width", "NAIVE never sends less",
        (128, 256, 512, 1024, 2048), lambda d: square(d, 256),
    ),
)  # fmt: skip
QUICK = (
    Sweep(SWEEPS[0].pair, "batch", "DATA sends less iff b > d, here d = 32", (8, 128), lambda b: square(32, b)),
    Sweep(SWEEPS[2].pair, "width", "NAIVE never sends less", (16, 64), lambda d: square(d, 16)),
)


def crossing(at: list[int], costs: list[Pair]) -> float | None:
    """The point from which the second of two costs stays below the first; None if it never or always is below.

    Between two points both are interpolated as powers of the variable: straight lines on logarithmic axes.
    """
    leads = [log(first / second) for first, second in costs]
    signs = [lead > 0 for lead in leads]
    if signs[-1] is False or all(signs):
        return None
    last = max(i for i, ahead in enumerate(signs) if not ahead)
    (a, b), (low, high) = list(pairwise(map(log, at)))[last], list(pairwise(leads))[last]
    return exp(a + (b - a) * low / (low - high))


def verdict(sweep: Sweep, at: list[int], costs: list[Pair]) -> str:
    """The crossing in words."""
    where = crossing(at, costs)
    first, second = sweep.pair
    if where is not None:
        return f"{second} from {sweep.along} {where:.0f} on"
    return f"{second if costs[-1][0] > costs[-1][1] else first} throughout"
