"""Estimated seconds of a call that was not timed: from the nearest timed calls of the same kind.

Seconds grow with the work of a call. So each of the nearest timed calls proposes its own seconds, times the ratio of
the two works, and the nearer it is the more its proposal counts. Without timed calls the work is that of this host's
products and sums of arrays.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import nsmallest
from math import exp, log

from netpart.plan.timings.timing_file import Timing

NEAREST = 4
"""The number of timed calls that are compared."""
CALL_SECONDS = 4e-6
"""Seconds of a call that do nothing: Python's, and those of checking the arguments."""
NEAR = 0.05
"""The distance below which timed calls count alike."""


class NearestTimings:
    """Timed calls by kind. ``speed`` and ``streaming`` are FLOPs and bytes per second of this host."""

    def __init__(self, speed: float, streaming: float) -> None:
        self.speed = speed
        self.streaming = streaming
        self.timed: dict[str, dict[tuple[float, float], float]] = defaultdict(dict)

    def add(self, kind: str, timing: Timing) -> None:
        """Note a timed call of a kind."""
        self.timed[kind][timing.flops, timing.nbytes] = timing.seconds

    def estimate(self, kind: str, flops: float, nbytes: float) -> float:
        """The seconds of a call of ``kind`` with so many FLOPs on so many bytes."""
        asked = self._counted_seconds(flops, nbytes)
        timed = self.timed.get(kind, {})
        nearest = nsmallest(NEAREST, ((_distance((flops, nbytes), at), at) for at in timed))
        if not nearest:
            return CALL_SECONDS + asked
        weights = [1 / (distance + NEAR) ** 2 for distance, _ in nearest]
        # The mean of logarithms: a ratio of 2 and one of 1/2 are equally far from 1.
        ratios = [log(max(timed[at] - CALL_SECONDS, 1e-7) / self._counted_seconds(*at)) for _, at in nearest]
        mean = sum(w * r for w, r in zip(weights, ratios, strict=True)) / sum(weights)
        return CALL_SECONDS + asked * exp(mean)

    def _counted_seconds(self, flops: float, nbytes: float) -> float:
        """The seconds by counted work alone; never 0."""
        return flops / self.speed + nbytes / self.streaming + 1e-9


def _distance(a: tuple[float, float], b: tuple[float, float]) -> float:
    """The distance of two calls: how far their FLOPs and their bytes differ, as logarithms."""
    return sum(abs(log((one + 1) / (other + 1))) for one, other in zip(a, b, strict=True))
