"""Levels of links: workers in hosts, hosts in racks, and so on, with the bandwidth of each member's port.

Level 1 has the ports of workers within a host, level 2 those of hosts within a rack. What leaves a host, or enters it,
shares the port of the host. Two rules price all that a pipeline sends, at any level, from the number of workers that a
stage takes of each host:

- Replicas sum a gradient of P bytes first inside hosts, then among these, and so on. With g members of a group that
  take part, a level takes 4 (g - 1) / g · P / B seconds, which is PipeDream's price of an all-reduce.
- Between two stages, X bytes go forward and X back. Each replica has an even share, and rows go to the nearest replica
  that has room for them. So |s - t| of the bytes cross the port of a member in which the one stage has the fraction s
  of its replicas, and the other t: 2 X |s - t| / B seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from operator import mul
from typing import Any

import numpy as np

from netpart.errors import ConfigError
from netpart.plan.price.net_profile import Floats

Counts = np.ndarray[Any, np.dtype[np.intp]]
"""Numbers of workers, by host."""


@dataclass(frozen=True)
class LinkLevels:
    """By level, from that of workers up: members of a group, and bytes per second through the port of a member.

    All is repeated ``copies`` times: there are as many groups of the last level, which do the same.
    """

    counts: tuple[int, ...]
    bandwidths: tuple[float, ...]
    copies: int = 1

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
        """Number of workers, without copies."""
        return self.sizes[-1]

    @property
    def hosts(self) -> int:
        """Number of hosts, without copies."""
        return self.workers // self.counts[0]

    def sum_seconds(self, take: Counts) -> float:
        """Seconds for each byte of a gradient that a stage sums, with ``take`` workers of each host and copy."""
        found, members = 0.0, [int(take.max())]
        used = take > 0
        for count in self.counts[1:]:
            inside = used.reshape(-1, count)
            # The group with the most members is the last one to have its sum.
            members.append(int(inside.sum(axis=1).max()))
            used = np.asarray(inside.any(axis=1))
        members[-1] *= self.copies
        for most, bandwidth in zip(members, self.bandwidths, strict=True):
            found += 4 * (most - 1) / most / bandwidth
        return found

    def send_seconds(self, take: Counts) -> float:
        """Seconds for each byte that the workers of a stage send through their own ports."""
        return float(1 / (take.sum() * self.copies * self.bandwidths[0]))

    def port_seconds(self, takes: Counts) -> Floats:
        """Seconds for each byte that stages send, by the port of each host, of each rack, ...: a row for each stage."""
        shares = takes / (takes.sum(axis=-1, keepdims=True) * self.copies)
        found = [np.zeros((len(takes), 0))]
        for count, bandwidth in zip(self.counts[1:], self.bandwidths[1:], strict=True):
            found.append(shares / bandwidth)
            shares = shares.reshape(len(takes), -1, count).sum(axis=-1)
        return np.concatenate(found, axis=1)

    def boundary_seconds(self, before: range, after: range) -> float:
        """Seconds for each byte from the ``before`` workers, which are consecutive, to those ``after``."""
        takes = np.array([self._take(workers) for workers in (before, after)])
        one, other = self.port_seconds(takes)
        return max(float(np.abs(one - other).max(initial=0)), *map(self.send_seconds, takes))

    def _take(self, workers: range) -> list[int]:
        """The number of ``workers`` in each host."""
        each = self.counts[0]
        return [len(range(max(workers.start, h * each), min(workers.stop, h * each + each))) for h in range(self.hosts)]

    def arranged_hosts(self, keys: Sequence[Any]) -> list[int]:
        """The hosts in an order that depends on their ``keys`` alone: hosts of a rack by key, then racks, ..."""
        groups = [[host] for host in range(len(keys))]
        for count in self.counts[1:]:
            parts = [groups[i : i + count] for i in range(0, len(groups), count)]
            groups = [list(chain(*sorted(part, key=lambda group: [keys[host] for host in group]))) for part in parts]
        return groups[0]


def flat_levels(workers: int, bandwidth: float) -> LinkLevels:
    """``workers`` equal workers, each with a port of ``bandwidth`` bytes per second."""
    return LinkLevels((workers,), (bandwidth,))
