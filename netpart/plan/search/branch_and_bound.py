"""Branch and bound for few partitions: finds and proves the best plan without OR-Tools."""

from __future__ import annotations

from time import monotonic

import numpy as np

from netpart.choices import PROFIT
from netpart.plan.search.knapsacks import CLOSE, Knapsacks, Plan

MOST = 20
"""Largest number of partitions that is solved in this way."""
LOOK = 4096
"""Nodes between two checks of the clock."""


def branch_and_bound(problem: Knapsacks, limit: float, start: Plan | None = None) -> tuple[Plan | None, bool]:
    """(the best legal plan or None, True if that is proved) within ``limit`` seconds; ``start`` is a legal plan."""
    search = BranchSearch(problem, monotonic() + limit, start)
    search.branch(0)
    return search.best, not search.late


class BranchSearch:
    """Search that places partitions, the largest first, on every device that could still lead to a better plan.

    Loads and rooms are whole numbers, so sums do not depend on their order.
    """

    def __init__(self, problem: Knapsacks, until: float, start: Plan | None) -> None:
        self.problem = problem
        self.until = until
        self.late = False
        self.nodes = 0
        self.order = [int(i) for i in np.argsort(-problem.loads, kind="stable")]
        self.loads = [problem.whole_loads[i] for i in self.order]
        self.rest = [sum(self.loads[i:]) for i in range(len(self.loads) + 1)]
        self.room = problem.whole_room
        unit = problem.unit
        self.speeds: list[float] = (problem.speeds / unit).tolist()
        self.worth: list[float] = (unit / problem.capacities).tolist()
        # Load is worth most on the smallest device (equation 5), so the bound fills devices in this order.
        self.small_first = [int(j) for j in np.argsort(problem.capacities, kind="stable")]
        self.load = [0] * len(self.room)
        self.count = [0] * len(self.room)
        self.plan = np.zeros(len(self.loads), np.int64)
        self.best = start
        self.most = self.measured(start) if start is not None else -float("inf")

    def measured(self, plan: Plan) -> float:
        """The objective of a plan, as a value to maximise."""
        return self.problem.profit(plan) if self.problem.objective == PROFIT else -self.problem.makespan(plan)

    def branch(self, k: int) -> None:
        """Place partition number k of the order, and all after it."""
        self.nodes += 1
        self.late = self.late or (self.nodes % LOOK == 0 and monotonic() > self.until)
        # Each idle device needs one of the partitions that are left.
        if self.late or self.count.count(0) > len(self.loads) - k:
            return
        if self.most > -float("inf") and self.best_possible(k) <= self.most + abs(self.most) * CLOSE:
            return
        if k == len(self.loads):
            self.best, self.most = self.plan.copy(), self.best_possible(k)
            return
        for j in self.devices(k):
            self.load[j] += self.loads[k]
            self.count[j] += 1
            self.plan[self.order[k]] = j
            self.branch(k + 1)
            self.load[j] -= self.loads[k]
            self.count[j] -= 1

    def devices(self, k: int) -> list[int]:
        """The devices that partition k fits on, the most promising first; one of each set of equal devices."""
        alike: dict[tuple[float, ...], int] = {}
        for j in self.small_first:
            if self.load[j] + self.loads[k] <= self.room[j]:
                # Devices with equal load, count, room and speed lead to equal plans; to try one of them removes the
                # symmetry.
                alike.setdefault((self.load[j], self.count[j], self.room[j], self.speeds[j]), j)
        if self.problem.objective == PROFIT:
            return list(alike.values())
        return sorted(alike.values(), key=lambda j: (self.load[j] + self.loads[k]) / self.speeds[j])

    def best_possible(self, k: int) -> float:
        """Upper bound of the objective for the partitions from k on, as if their load could be divided freely."""
        if self.problem.objective != PROFIT:
            latest = max(load / speed for load, speed in zip(self.load, self.speeds, strict=True))
            return -max(latest, self.rest[0] / sum(self.speeds))
        total = sum(load * worth for load, worth in zip(self.load, self.worth, strict=True))
        rest = self.rest[k]
        for j in self.small_first:
            poured = min(rest, self.room[j] - self.load[j])
            total = total + poured * self.worth[j]
            rest = rest - poured
        return total
