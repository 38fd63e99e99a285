"""The dynamic programme that searches for the stages of a pipeline on the workers of hosts.

    A(a, free) = min over takes of workers from the free ones, and cuts b outside a, of
                 max(T(a..b, take), moving the outputs at b, A(b, free - take))

is the time of the layers after down-set a on all free workers. For workers without hosts, ``free`` is their number,
and this is PipeDream's programme. It runs from the end of the net to its input, so the number of workers from a stage
to the end, on which its memory depends, is known when it is priced. Boundaries are priced at both ends: A keeps the
least for each use of the ports of hosts apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Any, NamedTuple

import numpy as np

from netpart.plan.price.net_profile import Floats
from netpart.plan.stages.downsets import Downsets
from netpart.plan.stages.host_takes import Free, Takes
from netpart.plan.stages.link_levels import Counts, LinkLevels

KEPT_PRICES = 64
"""Prices of all stages of a number of replicas that are kept for further use."""
ROWS = 64
"""Rows of a table of stages that are looked at together: these stay in the processor's cache."""


@dataclass(frozen=True)
class MemoryBudget:
    """Bytes that a worker may use, and arrays that the updater keeps for each parameter."""

    nbytes: float = inf
    states: int = 1

    def needed(self, parameters: Any, activation: Any, replicas: int, workers: int) -> Any:
        """M: bytes that each replica of a stage holds, with ``workers`` workers from it to the end; works on arrays of
        stages."""
        versions = -(-workers // replicas)
        return versions * (parameters + activation / replicas) + (1 + self.states) * parameters


class StageRun(NamedTuple):
    """A stage: the layers between two down-sets, and the workers that it takes of each host."""

    start: int
    end: int
    take: Counts


class StageSearch:
    """``values[free][k, a]`` are the least seconds of the layers after down-set a on all ``free`` workers, over the
    first stages that use the ports of hosts as row k of ``ports[free]``. ``straight``: no stage has replicas."""

    def __init__(
        self, cuts: Downsets, levels: LinkLevels, takes: Takes, room: MemoryBudget, straight: bool = False
    ) -> None:
        self.cuts, self.levels, self.room, self.straight, self.source = cuts, levels, room, straight, takes
        self.outside = ~cuts.nested()
        self.work, self.parameters, self.activation = map(
            _pairwise_difference, (cuts.work, cuts.parameters, cuts.activation)
        )
        self.work[self.outside] = inf
        # One table for all: memory of this size comes from the system, which clears it each time.
        self.table: Floats = np.empty_like(self.work)
        self.prices = lru_cache(KEPT_PRICES)(self._stage_prices)
        self.ports: dict[Free, Floats] = {}
        self.values: dict[Free, Floats] = {}
        self.states = sorted(takes.states(), key=lambda free: (sum(free), free))
        for free in self.states:
            self.solve(free)

    def takes(self, free: Free) -> Counts:
        """What the first stage on ``free`` workers may take, most workers first."""
        found = self.source.takes(free)
        if self.straight:
            found = found[found.sum(axis=1) == 1]
        # Of equally fast stages the first is taken.
        return found[np.argsort(-found.sum(axis=1), kind="stable")]

    def solve(self, free: Free) -> None:
        """Find the values of ``free``; those of states with fewer workers are known."""
        takes = self.takes(free)
        ports = self.levels.port_seconds(takes)
        once: dict[tuple[Any, ...], Floats] = {}
        least: dict[bytes, tuple[Floats, Floats]] = {}
        for take, loads in zip(takes, ports, strict=True):
            pairs = list(zip(free, take.tolist(), strict=True))
            alike = tuple(pairs[host] for host in self.levels.arranged_hosts(pairs))
            if alike not in once:
                once[alike] = self.with_first(free, take)
            key = loads.tobytes()
            least[key] = loads, np.minimum(once[alike], least[key][1]) if key in least else once[alike]
        self.ports[free] = np.array([loads for loads, _ in least.values()])
        self.values[free] = np.array([values for _, values in least.values()])

    def with_first(self, free: Free, take: Counts) -> Floats:
        """[a]: seconds of the layers after a with ``take`` for the first stage, and of what its workers receive."""
        prices, after = self.stage_prices(free, take), self.after(free, take)
        found = np.empty(len(prices))
        # No stage ends before it starts: of some rows only the columns from the first on count.
        for lo in range(0, len(prices), ROWS):
            rows = slice(lo, lo + ROWS)
            np.maximum(prices[rows, lo:], after[lo:], out=self.table[rows, lo:])
            self.table[rows, lo:].min(axis=1, out=found[rows])
        return np.asarray(np.maximum(found, self.moving(self.levels.send_seconds(take))))

    def stage_prices(self, free: Free, take: Counts) -> Floats:
        """[a, b]: T, the seconds of the layers between two down-sets in a stage; infinite without room for them."""
        # Without a limit of memory it does not matter how many workers are after the stage.
        workers = sum(free) if self.room.nbytes < inf else 0
        return self.prices(int(take.sum()), workers, self.levels.sum_seconds(take))

    def _stage_prices(self, take: int, workers: int, sums: float) -> Floats:
        """The prices of stages with ``take`` workers, of ``workers`` from them to the end, that sum a byte in ``sums``
        seconds."""
        replicas = take * self.levels.copies
        found = (self.work + sums * self.parameters) / replicas
        found[self.outside] = inf
        if self.room.nbytes < inf:
            held = self.room.needed(self.parameters, self.activation, replicas, workers * self.levels.copies)
            found[held > self.room.nbytes] = inf
        return np.asarray(found)

    def after(self, free: Free, take: Counts) -> Floats:
        """[b]: seconds of the layers after b on the workers that ``take`` leaves, and of the boundary between."""
        order, rest = self.left(free, take)
        if not any(rest):
            # Only the down-set of all layers is complete; it is the last one.
            return np.where(np.arange(len(self.cuts)) == len(self.cuts) - 1, 0, inf)
        loads = self.levels.port_seconds(take[None, order])
        moves = self.moving(np.abs(loads - self.ports[rest]).max(axis=1, initial=0))
        found = np.maximum(moves, self.values[rest]).min(axis=0)
        return np.asarray(np.maximum(found, self.moving(self.levels.send_seconds(take))))

    def left(self, free: Free, take: Counts) -> tuple[list[int], Free]:
        """The state that ``take`` leaves, and the hosts in the order of that state."""
        rest = (np.array(free) - take).tolist()
        order = self.levels.arranged_hosts(rest)
        return order, tuple(rest[host] for host in order)

    def moving(self, loads: Floats | float) -> Floats:
        """Seconds that the bytes across each cut take, forward and back, for ``loads`` seconds of each byte."""
        return np.asarray(2 * np.multiply.outer(loads, self.cuts.crossing))

    def best(self) -> tuple[float, Free]:
        """Seconds of the whole net, and the state with all workers that it needs; on ties, with the fewest."""
        return min((float(self.values[free][:, 0].min()), sum(free), free) for free in self.states)[::2]

    def runs(self, free: Free) -> Iterator[StageRun]:
        """The stages of the whole net on all ``free`` workers, with the takes of each from the hosts of that state."""
        a, hosts = 0, list(range(len(free)))
        loads = np.zeros(self.ports[free].shape[1])
        while a < len(self.cuts) - 1:
            take = min(self.takes(free), key=lambda take: self.seconds_with(free, take, a, loads))
            both = np.maximum(self.stage_prices(free, take)[a], self.after(free, take))
            # On ties the cut with the fewest bytes across it is taken.
            b = int(np.where(both == both.min(), self.cuts.crossing, inf).argmin())
            placed = np.zeros_like(take)
            placed[hosts] = take
            yield StageRun(a, b, placed)
            order, free = self.left(free, take)
            loads = self.levels.port_seconds(take[None, order])[0]
            a, hosts = b, [hosts[host] for host in order]

    def seconds_with(self, free: Free, take: Counts, a: int, loads: Floats) -> float:
        """Seconds of the layers after a with ``take`` for the first stage, after one with ``loads``."""
        within = np.maximum(self.stage_prices(free, take)[a], self.after(free, take)).min()
        used = np.abs(loads - self.levels.port_seconds(take[None])[0]).max(initial=0)
        received = max(float(used), self.levels.send_seconds(take))
        return max(float(within), float(self.moving(received)[a]))


def _pairwise_difference(sums: Floats) -> Floats:
    """[a, b]: the sum over down-set b minus that over a."""
    return np.asarray(sums[None, :] - sums[:, None])
