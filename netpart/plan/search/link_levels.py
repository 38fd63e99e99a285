"""Levels of links: workers in hosts, hosts in racks, and so on, with the bandwidth of each member's port.

Level 1 has the ports of workers within a host, level 2 those of hosts within a rack. What leaves a host, or enters it,
shares the port of the host. Two rules price all that a pipeline sends, at any level:

- Replicas sum a gradient of P bytes first inside the groups of level 1, then among these, and so on. With g members of
  a group that take part, level l takes 4 (g - 1) / g · P / B seconds, which is PipeDream's price of an all-reduce.
- Between two stages, X bytes go forward and X back. Each replica has an even share, and rows go to the nearest replica
  that has room for them. So |s - t| of the bytes cross the port of a member in which the one stage has the fraction s
  of its replicas, and the other t: 2 X |s - t| / B seconds.

Workers are counted from the end of the pipeline, as the search for stages begins there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import mul

import numpy as np

from netpart.errors import ConfigError
from netpart.plan.price.net_profile import Floats


@dataclass(frozen=True)
class WorkerSpan:
    """Neighbouring workers, from ``low`` to ``high`` - 1, that are whole groups of ``level``; each worker is a group of
    level 0. The groups do the same work."""

    low: int
    high: int
    level: int = 0


@dataclass(frozen=True)
class LinkLevels:
    """By level, from that of workers up: members of a group, and bytes per second through the port of a member."""

    counts: tuple[int, ...]
    bandwidths: tuple[float, ...]

    def __post_init__(self) -> None:
        pairs = tuple(zip(self.counts, self.bandwidths, strict=True))
        # Not ``bandwidth <= 0``, which is False for NaN.
        if not pairs or not all(count >= 1 and bandwidth > 0 for count, bandwidth in pairs):
            got = ", ".join(f"{count} and {bandwidth:g}" for count, bandwidth in pairs) or "none"
            raise ConfigError("plan", "a worker and a bandwidth above 0", got, "pass others")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Workers in a group of each level, from level 0."""
        return tuple(accumulate(self.counts, mul, initial=1))

    @property
    def workers(self) -> int:
        """Number of workers."""
        return self.sizes[-1]

    def sum_seconds(self, span: WorkerSpan, level: int) -> float:
        """Seconds for each byte of a gradient that the groups of ``span`` sum, within a group of ``level``."""
        # The group with the most members is the last one to have its sum.
        most = [self._most_members(span, k) for k in range(span.level, level)]
        return sum(4 * (n - 1) / n / self.bandwidths[k] for k, n in enumerate(most, span.level))

    def _most_members(self, span: WorkerSpan, k: int) -> int:
        """The groups of level k in that group of the next level that has the most of them in ``span``."""
        first, last, count = span.low // self.sizes[k], (span.high - 1) // self.sizes[k], self.counts[k]
        whole = last // count - first // count
        if not whole:
            return last - first + 1
        return count if whole > 1 else max(count - first % count, last % count + 1)

    def send_seconds(self, span: WorkerSpan) -> float:
        """Seconds for each byte that all workers of ``span`` send through their own ports; 0 for groups of workers."""
        return 0.0 if span.level else 1 / ((span.high - span.low) * self.bandwidths[0])

    def port_seconds(self, span: WorkerSpan, level: int) -> Floats:
        """Seconds for each byte that all groups of ``span`` send, per port of hosts and up in a group of ``level``."""
        loads = [self._shares(span, k, level) / self.bandwidths[k] * (k >= span.level) for k in range(1, level)]
        return np.concatenate([np.zeros(0), *loads])

    def _shares(self, span: WorkerSpan, k: int, level: int) -> Floats:
        """The fraction of the workers of ``span`` in each group of level k."""
        starts = np.arange(0, self.sizes[level], self.sizes[k])
        inside = np.minimum(starts + self.sizes[k], span.high) - np.maximum(starts, span.low)
        return np.asarray(np.maximum(inside, 0) / (span.high - span.low))


def flat_levels(workers: int, bandwidth: float) -> LinkLevels:
    """``workers`` equal workers, each with a port of ``bandwidth`` bytes per second."""
    return LinkLevels((workers,), (bandwidth,))
