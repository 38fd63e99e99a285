"""Link prices: what messages cost between each two workers, as arrays, and what it costs to sum over some workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import NamedTuple

import numpy as np

from netpart.collectives.kinds import ALL_REDUCE, collective_schedule, count_blocks
from netpart.collectives.network import LinkCost
from netpart.collectives.price import bytes_by_block, choose_algorithm, schedule_seconds
from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.price.devices import Devices

SMALL, LARGE = 1 << 12, 1 << 24
"""Bytes of two sums that are priced to know those of all others."""


class SumPrice(NamedTuple):
    """Seconds of an all-reduce, and those for which its messages keep the busiest worker from computing."""

    seconds: float
    calls: float

    def plus(self, other: SumPrice) -> SumPrice:
        """The price of two sums, one after the other."""
        return SumPrice(self.seconds + other.seconds, self.calls + other.calls)


@dataclass(eq=False)
class LinkPrices:
    """The prices of ``devices``; collectives by the algorithm ``wanted``."""

    devices: Devices
    wanted: str = "auto"
    known: dict[tuple[int, ...], tuple[SumPrice, SumPrice]] = field(default_factory=dict)

    @cached_property
    def seconds_per_byte(self) -> Array:
        """[t, s]: seconds for which a byte occupies both ends."""
        return self._of_pairs(lambda link: 1 / link.bandwidth)

    @cached_property
    def overheads(self) -> Array:
        """[t, s]: seconds for which a message occupies both ends, whatever its size."""
        return self._of_pairs(lambda link: link.overhead)

    @cached_property
    def delays(self) -> Array:
        """[t, s]: seconds from the start of a message until its first byte arrives."""
        return self._of_pairs(lambda link: link.latency + link.overhead)

    @cached_property
    def ports(self) -> list[tuple[Array, float]]:
        """The ports of hosts: [t, s], True where a message crosses it, and its seconds for a byte."""
        network, count = self.devices.network, len(self.devices)
        crossed: dict[int, Array] = {}
        for s, t in permutations(range(count), 2):
            for port in network.route(s, t).ports:
                crossed.setdefault(port, np.zeros((count, count), bool))[t, s] = True
        return [(mask, 1 / network.hosts[port // 2].bandwidth) for port, mask in crossed.items()]

    def is_port_crossed(self, workers: tuple[int, ...]) -> bool:
        """True if messages among ``workers`` cross the port of a host."""
        return any(bool(crosses[np.ix_(workers, workers)].any()) for crosses, _ in self.ports)

    @cached_property
    def entries(self) -> list[Array]:
        """By entry of a worker, [t, s]: True where a message comes through it. Those of different entries do not wait
        for each other."""
        network, count = self.devices.network, range(len(self.devices))
        entry = np.array([[network.route(s, t).entry if s != t else 0 for s in count] for t in count])
        return [entry == number for number in np.unique(entry)]

    def _of_pairs(self, price: Callable[[LinkCost], float]) -> Array:
        """[t, s]: ``price`` of the link from s to t, 0 within one worker."""
        network, count = self.devices.network, range(len(self.devices))
        return np.array([[0.0 if s == t else price(network.route(s, t).cost) for s in count] for t in count])

    def sum_seconds(self, workers: tuple[int, ...], nbytes: float) -> float:
        """Seconds of an all-reduce of ``nbytes`` over ``workers``."""
        return self.price_sum(workers, nbytes).seconds

    def price_sum(self, workers: tuple[int, ...], nbytes: float) -> SumPrice:
        """The price of an all-reduce of ``nbytes`` over ``workers``."""
        if len(workers) < 2 or not nbytes:
            return SumPrice(0.0, 0.0)
        if workers not in self.known:
            pairs = zip(*(self._price_schedule(workers, nbytes) for nbytes in (SMALL, LARGE)), strict=True)
            slopes = SumPrice(*((large - small) / (LARGE - SMALL) for small, large in pairs))
            small = self._price_schedule(workers, SMALL)
            fixed = SumPrice(*(max(0.0, s - slope * SMALL) for s, slope in zip(small, slopes, strict=True)))
            self.known[workers] = fixed, slopes
        return SumPrice(*(fixed + slope * nbytes for fixed, slope in zip(*self.known[workers], strict=True)))

    def _price_schedule(self, workers: tuple[int, ...], nbytes: int) -> SumPrice:
        """The price of an all-reduce by the algorithm that it would have."""
        count = len(workers)
        network = self.devices.network.part(workers)
        algorithm = choose_algorithm(ALL_REDUCE, count, (nbytes,), self.wanted, network)
        blocks = bytes_by_block((nbytes,), count_blocks(ALL_REDUCE, algorithm, count))
        schedule = collective_schedule(ALL_REDUCE, algorithm, count, network.paths)
        calls = [0.0] * count
        for message in schedule:
            cost = network.route(message.source, message.target).cost
            calls[message.source] += cost.overhead + sum(blocks[b] for b in message.blocks) / cost.bandwidth
            calls[message.target] += cost.overhead
        return SumPrice(schedule_seconds(schedule, blocks, count, network), max(calls))
