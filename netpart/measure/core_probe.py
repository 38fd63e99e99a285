"""Core probe: a process that measures the speed of its core on request, alone or at the same time as others.

    python -m netpart.measure.core_probe     reads "products" or "streams", line by line, and writes operations a second

It counts the seconds of its own thread, which others lengthen through memory and caches alone, not by taking the core.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter, thread_time

import numpy as np

from netpart.plan.timings.product_speed import product_call

STREAMED = 1 << 23
"""Elements of the arrays that are added: more than caches hold."""
PROBED = 0.15
"""Seconds of one measurement."""


def _answer_lines() -> int:
    """Answer each line of the input."""
    probes = {"products": product_call(), "streams": _stream_probe()}
    _write_line("ready")
    for line in sys.stdin:
        work, amount = probes[line.strip()]
        _write_line(f"{_probe_rate(work, amount)}")
    return 0


def _write_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _stream_probe() -> tuple[Callable[[], object], float]:
    """A sum of arrays, and the bytes that it reads and writes."""
    a = np.ones(STREAMED, np.float32)
    total = np.ones(STREAMED, np.float32)
    return lambda: np.add(total, a, out=total), 3.0 * a.nbytes


def _probe_rate(work: Callable[[], object], amount: float) -> float:
    """``amount`` per median second of ``work``."""
    seconds = list[float]()
    ends = perf_counter() + PROBED
    while not seconds or perf_counter() < ends:
        began = thread_time()
        work()
        seconds.append(thread_time() - began)
    return amount / median(seconds)


if __name__ == "__main__":
    sys.exit(_answer_lines())
