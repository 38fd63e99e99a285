"""Seconds of a kernel call: the median of a few, with the caches in the state in which a step leaves them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from statistics import median
from time import perf_counter_ns, thread_time_ns

import numpy as np

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING

SWEPT = 1 << 24
"""Bytes that are written before each timed call, so that code and data of a call lie where the other layers of a step
leave them: beyond a core's own caches, and partly beyond those that the cores share."""
TIMED_SECONDS = 0.02
"""Seconds for which a call is timed: a short one is repeated more often."""
LEAST, MOST = 3, 9
"""The numbers of timed calls."""


def time_op(op: Op, recent: Iterable[Array], threads: int, swept: int = SWEPT, before: Op = NOTHING) -> float:
    """The median seconds of ``op``; ``recent`` are the arrays that the call before it has just made: they are read
    before each timed call, as far as they fit among the ``swept`` bytes that are written before. ``before`` runs last
    before each timed call: it leaves the code in the caches.

    A call on one thread is timed in seconds of this thread, which other processes do not lengthen as long as they leave
    it a share of the memory's bandwidth.
    """
    clock = thread_time_ns if threads == 1 else perf_counter_ns
    scratch, scratch_before = _empty_scratch(op), _empty_scratch(before)
    small = [array for array in recent if array is not None and array.nbytes <= swept]
    first = _timed_call(op, scratch, clock)  # the first one may compile, and touches memory for the first time
    count = max(LEAST, min(MOST, int(TIMED_SECONDS / max(first, 1e-9))))

    def seconds_after_sweep() -> float:
        sweep_caches(swept)
        for array in small:
            array.max(initial=0)
        before.run(*scratch_before)
        return _timed_call(op, scratch, clock)

    return median(seconds_after_sweep() for _ in range(count))


def _empty_scratch(op: Op) -> list[Array]:
    """The scratch of a call."""
    return [np.empty(shape, dtype) for shape, dtype in op.scratch]


def sweep_caches(nbytes: int = SWEPT) -> None:
    """Let so many bytes of other data pass through the caches."""
    memory = _swept_memory(nbytes)
    np.add(memory, 1, out=memory)


def _timed_call(op: Op, scratch: list[Array], clock: Callable[[], int]) -> float:
    began = clock()
    op.run(*scratch)
    return (clock() - began) * 1e-9


@cache
def _swept_memory(nbytes: int) -> Array:
    """Memory that is written between timed calls."""
    return np.zeros(nbytes // 8, np.int64)
