"""Branching: closes the gap between the bound of the best weight and the best plan.

A plan's sum of tables is a line over the weight; the bound of a weight is the lowest line there, and the best weight is
where two lines cross: that of a plan whose sums of gradients exceed its backward pass, and that of one with the
reverse. If no single plan is as good as the crossing, the choices of a variable that differ in the two are separated,
and both halves are bounded anew (branch and bound). The half with the lowest bound is first, so the bound grows with
the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import inf

import numpy as np

from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.optimal.elimination import CostTable, EliminationMemo
from netpart.plan.optimal.plan_space import Assignment, PlanSpace, WeightedBound

MOST_WEIGHTS = 12
"""Weights that are tried for the largest bound, after the two at the ends."""
CLOSE = 1e-6
"""Relative distance of two bounds that count as equal."""
IsLate = Callable[[], bool]
"""Says that the time of a search is up."""
Excluded = dict[int, Array]
"""By variable, infinity for the choices that a branch excludes and 0 for the others."""


@dataclass(frozen=True)
class TightestBound:
    """The largest bound over all weights, and the plans that have the lowest lines on both sides of the best weight."""

    seconds: float
    above: Assignment
    below: Assignment
    plans: tuple[Assignment, ...]


@dataclass
class PlanBranching:
    """The search of ``space`` for the plan that takes least by the additive price; ``memory`` as in
    ``PlanSpace.bound``.

    ``explore`` ends when the bound is within ``gap`` of the best plan, or when ``is_late`` says so. ``plans`` are all
    that it met, by their additive seconds.
    """

    space: PlanSpace
    memory: float
    gap: float
    is_late: IsLate
    bound: float = field(init=False, default=0.0)
    plans: dict[tuple[int, ...], tuple[float, Assignment]] = field(init=False, default_factory=dict)
    memo: EliminationMemo = field(init=False, default_factory=EliminationMemo)

    @property
    def best(self) -> float:
        """The additive seconds of the best plan, with its memory if that has a price."""
        return min(seconds for seconds, _ in self.plans.values())

    def by_seconds(self) -> list[Assignment]:
        """All plans, the best first."""
        return [assignment for _, assignment in sorted(self.plans.values(), key=lambda pair: pair[0])]

    def explore(self) -> None:
        """Take the branch with the lowest bound and divide it, until no branch can have a better plan."""
        order = count()
        first = self._tighten({})
        heap = [(first.seconds, next(order), first, dict[int, Array]())]
        while heap:
            self.bound, _, found, excluded = heappop(heap)
            if self.bound >= self.best * (1 - self.gap) or self.is_late():
                self.bound = min(self.bound, self.best)
                return
            for half in self._halves(found, excluded):
                inner = self._tighten(half)
                heappush(heap, (max(inner.seconds, self.bound), next(order), inner, half))
        self.bound = self.best

    def _tighten(self, excluded: Excluded) -> TightestBound:
        """The largest bound of the plans without the ``excluded`` choices."""
        only = [CostTable((v,), costs) for v, costs in excluded.items()]
        found = {weight: self._solve(weight, only) for weight in (0.0, 1.0)}
        low, high = 0.0, 1.0
        for _ in range(MOST_WEIGHTS):
            (f, g), (h, i) = (self.space.weighted_line(found[w].assignment, self.memory) for w in (low, high))
            # The lines are f + g w and h + i w. If they do not cross between, one end is the best weight.
            if g <= 0 or i >= 0 or not low < (weight := (h - f) / (g - i)) < high:
                break
            found[weight] = self._solve(weight, only)
            if found[weight].seconds >= (f + g * weight) * (1 - CLOSE):
                break
            grows = self.space.weighted_line(found[weight].assignment, self.memory)[1] > 0
            low, high = (weight, high) if grows else (low, weight)
        plans = tuple(each.assignment for each in found.values())
        best = max(each.seconds for each in found.values())
        return TightestBound(best, found[low].assignment, found[high].assignment, plans)

    def _solve(self, weight: float, only: list[CostTable]) -> WeightedBound:
        """The bound of a weight; its plan is kept."""
        found = self.space.bound(weight, self.memory, self.memo, only)
        key = tuple(found.assignment[v] for v in self.space.layers.variables)
        if key not in self.plans and found.seconds < inf:
            start, growth = self.space.weighted_line(found.assignment, self.memory)
            # The larger of the lines' ends is that with max(B, S).
            self.plans[key] = max(start, start + growth), found.assignment
        return found

    def _halves(self, found: TightestBound, excluded: Excluded) -> Iterator[Excluded]:
        """``excluded`` twice, each with other choices of one variable, so that neither half has both plans."""
        variable = max(
            (v for v in self.space.layers.variables if found.above[v] != found.below[v]),
            key=lambda v: abs(self._growths(v)[found.above[v]] - self._growths(v)[found.below[v]]),
            default=None,
        )
        if variable is None:
            return
        growths = self._growths(variable)
        above, below = found.above[variable], found.below[variable]
        apart = growths[above] != growths[below]
        first = growths > (growths[above] + growths[below]) / 2 if apart else np.arange(len(growths)) == above
        old = excluded.get(variable, np.zeros(len(growths)))
        for half in (first, ~first):
            costs = np.where(half, old, np.inf)
            if np.isfinite(costs).any():
                yield excluded | {variable: costs}

    def _growths(self, variable: int) -> Array:
        """[c]: how much more the sums of a choice take than its backward pass."""
        priced = self.space.layers.priced(variable)
        return np.asarray(priced.sums - priced.backward)
