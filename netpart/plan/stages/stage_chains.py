"""Stage chains: the pipeline with the fastest step, from the seconds of all stages and of all links between two.

Stages have consecutive workers, one after another; some workers may be idle. A stage is the layers between two cuts of
a net, which are numbered from the input, where no layer is done, to the loss. Of a step with M micro-batches through
stages and links of t1, t2, ... seconds, the bubbles are those of the schedule:

    step = t1 + t2 + ... + (M - 1) · max(t1, t2, ...)

The first micro-batch passes all of them, the others follow at the pace of the slowest. Without M, for a pipeline that
is never empty, the step is the slowest alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, nextafter
from typing import NamedTuple

import numpy as np

from netpart.plan.price.net_profile import Floats


class StageKey(NamedTuple):
    """The cuts between which the layers of a stage are, and its workers."""

    start: int
    end: int
    workers: range


class FoundChain(NamedTuple):
    """Stages, the sum of the seconds of all stages and links, and the most of them."""

    keys: tuple[StageKey, ...]
    total: float
    most: float

    def step_seconds(self, micro_batches: int | None) -> float:
        """Seconds of a step."""
        return self.most if micro_batches is None else self.total + (micro_batches - 1) * self.most


@dataclass(frozen=True)
class StageSeconds:
    """``stages[workers][a, b]``: the seconds of a stage from cut a to cut b. ``links[before, after][b]``: those of what
    crosses cut b, forward and back, for each two runs of workers of which one follows the other."""

    stages: Mapping[range, Floats]
    links: Mapping[tuple[range, range], Floats]

    def chain(self, keys: Sequence[StageKey]) -> FoundChain:
        """The chain of some stages."""
        links = (self.links[a.workers, b.workers][b.start] for a, b in pairwise(keys))
        each = [*(self.stages[key.workers][key.start, key.end] for key in keys), *links]
        return FoundChain(tuple(keys), float(sum(each)), float(max(each, default=inf)))


def find_best_chain(seconds: StageSeconds, micro_batches: int | None) -> FoundChain:
    """The chain with the fastest step."""
    fastest = _find_chain(seconds, inf, np.maximum)
    if micro_batches is None:
        return fastest
    best, most = fastest, inf
    # Chains with the least sum, for less and less of the slowest stage. None is found twice.
    while (found := _find_chain(seconds, most, np.add)).total + (micro_batches - 1) * fastest.most < best.step_seconds(
        micro_batches
    ):
        best = min(best, found, key=lambda chain: chain.step_seconds(micro_batches))
        most = nextafter(found.most, -inf)
    return best


def _find_chain(seconds: StageSeconds, most: float, joined: np.ufunc) -> FoundChain:
    """The chain that minimises ``joined`` over its stages and links, none of which takes more than ``most``; on ties
    the one with the fewest workers in its first stage."""
    walk = _ChainWalk(seconds, most, joined)
    first = min(walk.values, key=lambda run: (float(walk.values[run][0]), len(run)))
    if walk.values[first][0] == inf:
        return FoundChain((), inf, inf)
    return seconds.chain(list(walk.trace(first)))


class _ChainWalk:
    """The dynamic programme from the loss to the input: ``values[run][a]`` is the least for the layers after cut a,
    with ``run`` as the workers of their first stage; ``after[run][b]`` the least after a stage that ends at b."""

    def __init__(self, seconds: StageSeconds, most: float, joined: np.ufunc) -> None:
        self.joined = joined
        self.stages = {run: np.where(each > most, inf, each) for run, each in seconds.stages.items()}
        self.links = {pair: np.where(each > most, inf, each) for pair, each in seconds.links.items()}
        self.values: dict[range, Floats] = {}
        self.after: dict[range, Floats] = {}
        for run in sorted(self.stages, key=lambda run: -run.start):
            self.after[run] = self.least_after(run)
            self.values[run] = joined(self.stages[run], self.after[run][None, :]).min(axis=1)

    def least_after(self, run: range) -> Floats:
        """[b]: the least for the layers after cut b and the link to them; nothing after the last cut."""
        found = np.full(len(self.stages[run]), inf)
        found[-1] = 0.0
        for values in self.values_after(run).values():
            found = np.minimum(found, values)
        return found

    def values_after(self, run: range) -> dict[range, Floats]:
        """[b], for each run that may come after ``run``."""
        nexts = (after for before, after in self.links if before == run)
        return {after: self.joined(self.links[run, after], self.values[after]) for after in nexts}

    def trace(self, run: range) -> Iterable[StageKey]:
        """The stages of the chain that has the value of ``run`` for the whole net."""
        a, last = 0, len(self.after[run]) - 1
        while a < last:
            b = int(self.joined(self.stages[run][a], self.after[run]).argmin())
            yield StageKey(a, b, run)
            rest = self.values_after(run)
            a, run = b, min(rest, key=lambda after: float(rest[after][b]), default=run)
