"""Makes any allocation legal if it can: empties devices that hold too much, and gives idle ones something to do."""

from __future__ import annotations

import numpy as np

from netpart.choices import PROFIT
from netpart.plan.search.knapsacks import Knapsacks, Plan

TRIES = 200
"""Partitions that may be thrown out of a device again before a repair is given up."""


def repair_plan(problem: Knapsacks, plan: Plan, random: np.random.Generator) -> Plan | None:
    """A legal plan near ``plan``, or None if none was found.

    What a device cannot hold is taken out at random and put, the largest first, where there is room: where it is worth
    most, or is done first. Where there is none, it throws out something smaller, which then looks for room itself.
    """
    plan = plan.copy()
    homeless = _evict_overload(problem, plan, random)
    for _ in range(TRIES):
        if not homeless:
            return plan if fill_idle_devices(problem, plan) else None
        homeless.sort(key=lambda i: problem.loads[i])
        homeless += put_on_device(problem, plan, homeless.pop(), random)
    return None


def _evict_overload(problem: Knapsacks, plan: Plan, random: np.random.Generator) -> list[int]:
    """Takes partitions out of ``plan`` (device -1) until no device holds more than it can; returns them."""
    load, out = problem.on_devices(plan), []
    for i in random.permutation(len(plan)):
        device = plan[i]
        if load[device] > problem.room[device]:
            load[device] -= problem.loads[i]
            plan[i] = -1
            out.append(int(i))
    return out


def put_on_device(problem: Knapsacks, plan: Plan, i: int, random: np.random.Generator) -> list[int]:
    """Puts partition ``i`` on the best device with room for it; returns what had to leave for that."""
    inside = plan >= 0
    room = problem.room - np.bincount(plan[inside], problem.loads[inside], len(problem.room))
    fits = np.flatnonzero(room >= problem.loads[i])
    if len(fits):
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
    """Clears a device that can hold partition ``i`` for it; returns what stood there, or ``i`` if there is none."""
    large = np.flatnonzero(problem.room >= problem.loads[i])
    if not len(large):
        return [i]
    device = int(random.choice(large))
    out = np.flatnonzero(plan == device)
    plan[out] = -1
    plan[i] = device
    return [int(k) for k in out]


def fill_idle_devices(problem: Knapsacks, plan: Plan) -> bool:
    """Gives every idle device the largest partition that fits it from a device that has several; False if none can."""
    for device in np.flatnonzero(np.bincount(plan, minlength=len(problem.room)) == 0):
        counts = np.bincount(plan, minlength=len(problem.room))
        movable = np.flatnonzero((counts[plan] > 1) & (problem.loads <= problem.room[device]))
        if not len(movable):
            return False
        plan[movable[problem.loads[movable].argmax()]] = device
    return True
