"""Stages of a pipeline whose insides are priced by a function: what a stage costs on some workers.

``search_pipeline`` knows one way to use the workers of a stage, replicas. Here ``stage_price(layers, workers)`` knows
it: it may search for the best cut of these layers, and returns its seconds for a micro-batch.

To price a stage may take seconds, and there are thousands. So the search begins with the seconds that are expected of
each stage. It finds the best pipeline (``stage_chains``), asks for the prices of its stages, and repeats that until all
stages of the best pipeline have been priced. If no price is less than what was expected, no other pipeline is faster:
what is expected of its stages makes it slower already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from time import process_time

import numpy as np

from netpart.plan.price.net_profile import Floats
from netpart.plan.stages.downsets import Downsets
from netpart.plan.stages.link_levels import LinkLevels
from netpart.plan.stages.stage_chains import FoundChain, StageKey, StageSeconds, find_best_chain

StagePrice = Callable[[tuple[int, ...], range], float]
"""Seconds of a micro-batch through layers of a profile, by index, on consecutive workers."""
ExpectedSeconds = Callable[[range], Floats]
"""[a, b]: the seconds of a micro-batch that are expected of the layers between two cuts on consecutive workers;
infinite if these are no stage."""


@dataclass(frozen=True)
class StageProblem:
    """The ``cuts`` between which stages are, the ``runs`` of workers that a stage may have, the links between these,
    the prices, and the number of micro-batches (None: the pipeline is never empty)."""

    cuts: Downsets
    runs: Sequence[range]
    levels: LinkLevels
    expected: ExpectedSeconds
    stage_price: StagePrice
    micro_batches: int | None = None


@dataclass(frozen=True)
class PricedStage:
    """Layers, their workers, and the seconds of a micro-batch."""

    layers: tuple[int, ...]
    workers: range
    seconds: float


@dataclass(frozen=True)
class PricedPipeline:
    """Stages from the input to the loss, the seconds of a step, and a bound: if no stage takes less than expected, no
    pipeline takes less than that."""

    stages: tuple[PricedStage, ...]
    seconds: float
    bound: float


def search_priced_stages(problem: StageProblem, limit: float = inf) -> PricedPipeline:
    """The pipeline with the fastest step.

    After ``limit`` seconds of the processor the best pipeline so far is returned, and its bound is what is proved.
    """
    search, count = _PricedSearch(problem), problem.micro_batches
    ends = process_time() + limit
    tried: list[FoundChain] = []
    while True:
        found = find_best_chain(search.seconds, count)
        unknown = [key for key in found.keys if key not in search.known]
        for key in unknown:
            search.learn(key)
        tried.append(search.seconds.chain(found.keys))
        best = min(tried, key=lambda chain: chain.step_seconds(count))
        if not unknown or process_time() > ends:
            bound = min(found.step_seconds(count), best.step_seconds(count))
            return PricedPipeline(tuple(map(search.stage, best.keys)), best.step_seconds(count), bound)


class _PricedSearch:
    """The ``seconds`` of stages, those that are expected until they are ``known``."""

    def __init__(self, problem: StageProblem) -> None:
        self.problem, self.cuts = problem, problem.cuts
        stages = {run: problem.expected(run).copy() for run in problem.runs}
        links = {(a, b): self.link_seconds(a, b) for a in stages for b in stages if a.stop == b.start}
        self.seconds = StageSeconds(stages, links)
        self.known: dict[StageKey, float] = {}

    def link_seconds(self, before: range, after: range) -> Floats:
        """[b]: seconds for what crosses a cut, forward and back."""
        return np.asarray(2 * self.problem.levels.boundary_seconds(before, after) * self.cuts.crossing)

    def layers(self, key: StageKey) -> tuple[int, ...]:
        """The layers of a stage."""
        return tuple(map(int, np.flatnonzero(self.cuts.members[key.end] & ~self.cuts.members[key.start])))

    def learn(self, key: StageKey) -> None:
        """Ask for the price of a stage."""
        self.known[key] = self.problem.stage_price(self.layers(key), key.workers)
        self.seconds.stages[key.workers][key.start, key.end] = self.known[key]

    def stage(self, key: StageKey) -> PricedStage:
        """A stage whose price is known."""
        return PricedStage(self.layers(key), key.workers, self.known[key])
