"""Stages of a pipeline whose insides are priced by a function: what a stage costs on a number of workers.

``best_pipeline`` knows one way to use the workers of a stage, replicas. Here ``stage_price(layers, workers)`` knows
it: it may search for the best cut of these layers, and returns its seconds for a micro-batch and its placements. Of a
step with M micro-batches through stages and links of t1, t2, ... seconds, the bubbles are those of the schedule:

    step = t1 + t2 + ... + (M - 1) · max(t1, t2, ...)

The first micro-batch passes all of them, the others follow at the pace of the slowest. Without M, for a pipeline that
is never empty, the step is the slowest alone.

To price a stage may take seconds, and there are thousands. So the search begins with a floor below each price, work
divided evenly. It finds the best pipeline, asks for the prices of its stages, and repeats that until all stages of the
best pipeline have been priced. No other pipeline is then faster, as the floors of its stages make it slower already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import inf, nextafter
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from netpart.plan.price.net_profile import Floats, NetProfile
from netpart.plan.stages.downsets import find_downsets

StagePrice = Callable[[tuple[int, ...], int], tuple[float, Any]]
"""Seconds of a micro-batch through layers of a profile, by index, on a number of workers, and their placements."""


@dataclass(frozen=True)
class PricedStage:
    """Layers, the number of their workers, the seconds of a micro-batch, and the placements of ``stage_price``."""

    layers: tuple[int, ...]
    workers: int
    seconds: float
    placements: Any


@dataclass(frozen=True)
class PricedPipeline:
    """Stages from the input to the loss, the seconds of a step, and a bound: no pipeline takes less than that."""

    stages: tuple[PricedStage, ...]
    seconds: float
    bound: float


class StageKey(NamedTuple):
    """The down-sets between which the layers of a stage are, and its workers."""

    start: int
    end: int
    workers: int


class FoundChain(NamedTuple):
    """Stages, the sum of the seconds of all stages and links, and the most of them."""

    keys: tuple[StageKey, ...]
    total: float
    most: float

    def step_seconds(self, micro_batches: int | None) -> float:
        """Seconds of a step."""
        return self.most if micro_batches is None else self.total + (micro_batches - 1) * self.most


def search_priced_stages(
    profile: NetProfile, workers: int, bandwidth: float, stage_price: StagePrice, micro_batches: int | None = None,
    limit: float = inf,
) -> PricedPipeline:  # fmt: skip
    """The pipeline on at most ``workers`` workers with the fastest step. ``profile`` has the seconds and the bytes of a
    micro-batch on one worker; no price may be less than the work divided by the workers.

    After ``limit`` seconds the best pipeline so far is returned, and its bound is what is proved.
    """
    search = PricedSearch(profile, workers, bandwidth, micro_batches)
    ends = perf_counter() + limit
    tried: list[FoundChain] = []
    while True:
        found = search.best_chain()
        unknown = [key for key in found.keys if key not in search.known]
        for key in unknown:
            search.learn(key, stage_price)
        tried.append(search.priced(found.keys))
        best = min(tried, key=search.step_seconds)
        bound = min(search.step_seconds(found), search.step_seconds(best))
        if not unknown or perf_counter() > ends:
            return PricedPipeline(tuple(map(search.stage, best.keys)), search.step_seconds(best), bound)


class PricedSearch:
    """``prices[r - 1][a, b]``: the seconds of a stage between two down-sets on r workers, or its floor if unknown."""

    def __init__(self, profile: NetProfile, workers: int, bandwidth: float, micro_batches: int | None) -> None:
        self.cuts = find_downsets(profile)
        self.bandwidth, self.micro_batches = bandwidth, micro_batches
        work = np.where(self.cuts.nested(), self.cuts.work[None, :] - self.cuts.work[:, None], inf)
        self.prices: Floats = work[None] / np.arange(1, workers + 1)[:, None, None]
        self.known: dict[StageKey, tuple[float, Any]] = {}

    def step_seconds(self, chain: FoundChain) -> float:
        """Seconds of a step of ``chain``."""
        return chain.step_seconds(self.micro_batches)

    def layers(self, key: StageKey) -> tuple[int, ...]:
        """The layers of a stage."""
        return tuple(map(int, np.flatnonzero(self.cuts.members[key.end] & ~self.cuts.members[key.start])))

    def learn(self, key: StageKey, stage_price: StagePrice) -> None:
        """Ask for the price of a stage."""
        self.known[key] = stage_price(self.layers(key), key.workers)
        self.prices[key.workers - 1, key.start, key.end] = self.known[key][0]

    def stage(self, key: StageKey) -> PricedStage:
        """A stage whose price is known."""
        return PricedStage(self.layers(key), key.workers, *self.known[key])

    def priced(self, keys: tuple[StageKey, ...]) -> FoundChain:
        """The chain of stages that are all known."""
        return self.timed(keys, [self.known[key][0] for key in keys])

    def timed(self, keys: tuple[StageKey, ...], seconds: list[float]) -> FoundChain:
        """The chain of stages of so many ``seconds``."""
        each = seconds + [self.link(a.workers, b.workers) * self.cuts.crossing[b.start] for a, b in pairwise(keys)]
        return FoundChain(keys, float(sum(each)), float(max(each)))

    def link(self, before: int, after: int) -> float:
        """Seconds for each byte between stages of ``before`` and ``after`` workers, forward and back."""
        return 2 / (min(before, after) * self.bandwidth)

    def best_chain(self) -> FoundChain:
        """The chain with the fastest step, by the prices and floors that there are."""
        fastest = self.chain(inf, np.maximum)
        if self.micro_batches is None:
            return fastest
        best, most = fastest, inf
        # Chains with the least sum, for less and less of the slowest stage. None is found twice.
        while (found := self.chain(most, np.add)).total + (self.micro_batches - 1) * fastest.most < self.step_seconds(
            best
        ):
            best, most = min(best, found, key=self.step_seconds), nextafter(found.most, -inf)
        return best

    def chain(self, most: float, joined: np.ufunc) -> FoundChain:
        """The chain that minimises ``joined`` over its stages and links, none of which takes more than ``most``."""
        prices = np.where(self.prices > most, inf, self.prices)
        values: dict[tuple[int, int], Floats] = {}
        for m in range(1, len(prices) + 1):
            for r in range(1, m + 1):
                values[m, r] = joined(prices[r - 1], self.after(values, m - r, r, most, joined)[None, :]).min(axis=1)
        m, r = min(values, key=lambda key: float(values[key][0]))
        if values[m, r][0] == inf:
            return FoundChain((), inf, inf)
        keys = tuple(self.trace(values, prices, (m, r), most, joined))
        return self.timed(keys, [float(prices[key.workers - 1, key.start, key.end]) for key in keys])

    def after(self, values: dict[tuple[int, int], Floats], m: int, r: int, most: float, joined: np.ufunc) -> Floats:
        """[b]: the least for the layers after cut b on m workers, after a stage of r workers, with the link to it."""
        found = np.full(len(self.cuts), inf)
        found[-1] = 0.0
        for s in range(1, m + 1):
            sent = self.link(r, s) * self.cuts.crossing
            found = np.minimum(found, joined(np.where(sent > most, inf, sent), values[m, s]))
        return found

    def trace(
        self, values: dict[tuple[int, int], Floats], prices: Floats, first: tuple[int, int], most: float,
        joined: np.ufunc,
    ) -> Iterator[StageKey]:  # fmt: skip
        """The stages of the chain that has the value ``values[first][0]``."""
        (m, r), a = first, 0
        while a < len(self.cuts) - 1:
            after = self.after(values, m - r, r, most, joined)
            b = int(joined(prices[r - 1][a], after).argmin())
            yield StageKey(a, b, r)
            m -= r
            links = {s: self.link(r, s) * self.cuts.crossing[b] for s in range(1, m + 1)}
            rest = {s: joined(sent, values[m, s][b]) for s, sent in links.items() if sent <= most}
            a, r = b, min(rest, key=lambda s: float(rest[s]), default=r)
