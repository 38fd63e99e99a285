"""Repair: makes an allocation legal if possible, by unloading overfull devices and giving idle ones a partition."""

from __future__ import annotations

import numpy as np

from netpart.choices import PROFIT
from netpart.plan.search.knapsacks import Knapsacks, Plan

TRIES = 200
"""Limit of displaced partitions that are placed again before a repair fails."""


def repair_plan(problem: Knapsacks, plan: Plan, random: np.random.Generator) -> Plan | None:
    """A legal plan near ``plan``, or None if none was found.

    Partitions that a device cannot hold are removed at random and placed, the largest first, where there is room: where
    they are worth most, or done first. If there is no room, a partition displaces a smaller one, which is then placed.
    """
    plan = plan.copy()
    homeless = _evict_overload(problem, plan, random)
    for _ in range(TRIES):
        if not homeless:
            return plan if fill_idle_devices(problem, plan) else None
        # Ascending, because ``pop`` takes the last one.
        homeless.sort(key=lambda i: problem.loads[i])
        homeless += put_on_device(problem, plan, homeless.pop(), random)
    return None


def _evict_overload(problem: Knapsacks, plan: Plan, random: np.random.Generator) -> list[int]:
    """Remove partitions from ``plan`` (device -1) until no device is overfull; return them."""
    load, out = problem.on_devices(plan), []
    for i in random.permutation(len(plan)):
        device = plan[i]
        if load[device] > problem.room[device]:
            load[device] -= problem.loads[i]
            plan[i] = -1
            out.append(int(i))
    return out


def put_on_device(problem: Knapsacks, plan: Plan, i: int, random: np.random.Generator) -> list[int]:
    """Put partition ``i`` on the best device with room for it; return the partitions that it displaced."""
    inside = plan >= 0
    room = problem.room - np.bincount(plan[inside], problem.loads[inside], len(problem.room))
    fits = np.flatnonzero(room >= problem.loads[i])
    if len(fits):
        # For the profit, load is worth most on the smallest device; otherwise the most free time is best.
        cost = problem.capacities[fits] if problem.objective == PROFIT else -room[fits] / problem.speeds[fits]
        plan[i] = fits[cost.argmin()]
        return []
    smaller = np.flatnonzero(inside & (problem.loads < problem.loads[i]))
    leaving = smaller[room[plan[smaller]] + problem.loads[smaller] >= problem.loads[i]]
    if len(leaving):
        other = int(random.choice(leaving))
        plan[i] = plan[other]
        plan[other] = -1
        return [other]
    return _clear_device(problem, plan, i, random)


def _clear_device(problem: Knapsacks, plan: Plan, i: int, random: np.random.Generator) -> list[int]:
    """Clear a device that can hold partition ``i`` and put it there; return what it held, or ``i`` if none can."""
    large = np.flatnonzero(problem.room >= problem.loads[i])
    if not len(large):
        return [i]
    device = int(random.choice(large))
    out = np.flatnonzero(plan == device)
    plan[out] = -1
    plan[i] = device
    return [int(k) for k in out]


def fill_idle_devices(problem: Knapsacks, plan: Plan) -> bool:
    """Move to every idle device the largest partition that fits, from a device with several; False if none can be
    moved."""
    for device in np.flatnonzero(np.bincount(plan, minlength=len(problem.room)) == 0):
        counts = np.bincount(plan, minlength=len(problem.room))
        movable = np.flatnonzero((counts[plan] > 1) & (problem.loads <= problem.room[device]))
        if not len(movable):
            return False
        plan[movable[problem.loads[movable].argmax()]] = device
    return True
