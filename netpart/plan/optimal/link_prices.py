"""Link prices: what messages cost between each two workers, as arrays, and what it costs to sum over some workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from netpart.collectives.kinds import ALL_REDUCE, collective_schedule, count_blocks
from netpart.collectives.price import bytes_by_block, choose_algorithm
from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.price.devices import Devices
from netpart.plan.price.transfers import transfer_seconds

SMALL, LARGE = 1 << 12, 1 << 24
"""Bytes of two sums that are priced to know those of all others."""


@dataclass(eq=False)
class LinkPrices:
    """The prices of ``devices``; collectives by the algorithm ``wanted``."""

    devices: Devices
    wanted: str = "auto"
    known: dict[tuple[int, ...], tuple[float, float]] = field(default_factory=dict)

    @cached_property
    def seconds_per_byte(self) -> Array:
        """[s, t]: seconds for which a byte occupies both ends."""
        return self._of_pairs(lambda a, b: 1 / self.devices.between((a, b)).bandwidth)

    @cached_property
    def overheads(self) -> Array:
        """[s, t]: seconds for which a message occupies both ends, whatever its size."""
        return self._of_pairs(lambda a, b: self.devices.between((a, b)).overhead)

    @cached_property
    def delays(self) -> Array:
        """[s, t]: seconds from the start of a message until its first byte arrives."""
        return self._of_pairs(lambda a, b: self.devices.between((a, b)).latency + self.devices.between((a, b)).overhead)

    def _of_pairs(self, price) -> Array:  # type: ignore[no-untyped-def]
        """[s, t]: ``price`` of each two workers, 0 within one."""
        count = range(len(self.devices))
        return np.array([[0.0 if a == b else price(a, b) for b in count] for a in count])

    def sum_seconds(self, workers: tuple[int, ...], nbytes: float) -> float:
        """Seconds of an all-reduce of ``nbytes`` over ``workers``."""
        if len(workers) < 2 or not nbytes:
            return 0.0
        if workers not in self.known:
            small, large = (self._price_sum(workers, nbytes) for nbytes in (SMALL, LARGE))
            slope = (large - small) / (LARGE - SMALL)
            self.known[workers] = max(0.0, small - slope * SMALL), slope
        fixed, slope = self.known[workers]
        return fixed + slope * nbytes

    def _price_sum(self, workers: tuple[int, ...], nbytes: int) -> float:
        """Seconds of an all-reduce by the algorithm that it would have."""
        count = len(workers)
        algorithm = choose_algorithm(ALL_REDUCE, count, (nbytes,), self.wanted)
        blocks = bytes_by_block((nbytes,), count_blocks(ALL_REDUCE, algorithm, count))
        schedule = collective_schedule(ALL_REDUCE, algorithm, count)
        messages = [(workers[m.source], workers[m.target], sum(blocks[b] for b in m.blocks)) for m in schedule]
        return transfer_seconds(messages, self.devices)
