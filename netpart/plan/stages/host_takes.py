"""What a stage may take: workers of each host, and which states of the hosts that leaves.

A state has the free workers of each host. *Every* state and every take give all pipelines, and are feasible for few
hosts. Otherwise takes are *regular*: neighbours in the order of all workers, or equally many workers of some whole
hosts, of which the next stages then take others, until none is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import comb

import numpy as np

from netpart.plan.stages.link_levels import Counts, LinkLevels

Free = tuple[int, ...]
"""Free workers of each host."""


class EveryTake:
    """All states, one of each set of states that differ in the order of hosts alone, and all takes."""

    def __init__(self, levels: LinkLevels) -> None:
        self.levels = levels

    def states(self) -> set[Free]:
        """The states with a free worker."""
        some = product(range(self.levels.counts[0] + 1), repeat=self.levels.hosts)
        return {free for free in some if any(free) and self.is_arranged(free)}

    def is_arranged(self, free: Free) -> bool:
        """True for the state that stands for all with another order of hosts."""
        return free == tuple(free[host] for host in self.levels.arranged_hosts(free))

    def takes(self, free: Free) -> Counts:
        """A row for each take."""
        found = [take for take in product(*(range(count + 1) for count in free)) if any(take)]
        return np.array(found, np.intp)

    def pairs(self) -> int:
        """The number of states and takes that differ in more than the order of hosts."""
        found = comb(self.levels.counts[0] + 2, 2)
        for count in self.levels.counts[1:]:
            found = comb(found + count - 1, count)
        return found


class RegularTake:
    """The states and takes that are regular."""

    def __init__(self, levels: LinkLevels) -> None:
        self.most, self.hosts = levels.counts[0], levels.hosts

    def states(self) -> set[Free]:
        """The states with a free worker: without the first workers, or with equally many in some hosts."""
        some, most = range(self.most * self.hosts), self.most
        flat = {tuple(min(max(most * (host + 1) - used, 0), most) for host in range(self.hosts)) for used in some}
        runs = product(range(self.hosts), range(2, self.hosts + 1), range(1, most))
        even = {(0,) * p + (left,) * k + (most,) * (self.hosts - p - k) for p, k, left in runs if p + k <= self.hosts}
        return flat | even

    def takes(self, free: Free) -> Counts:
        """A row for each take."""
        return np.array(list(self._takes(free)), np.intp)

    def _takes(self, free: Free) -> Iterator[Free]:
        """The takes from ``free``."""
        first = next(host for host, count in enumerate(free) if count)
        left, alike = free[first], free.count(free[first])
        if left == self.most or alike == 1:
            yield from (self._fill(free, workers) for workers in range(1, sum(free) + 1))
        for hosts in range(2, alike + 1) if left == self.most else (alike,) if alike > 1 else ():
            # All workers of whole hosts are neighbours, too.
            each = range(1, left + (left < self.most))
            yield from ((0,) * first + (n,) * hosts + (0,) * (len(free) - first - hosts) for n in each)

    def _fill(self, free: Free, workers: int) -> Free:
        """The first ``workers`` free workers."""
        before = np.cumsum((0, *free[:-1]))
        return tuple(np.clip(workers - before, 0, free).tolist())


Takes = EveryTake | RegularTake
