"""Local search: improves a plan by exchanging two partitions of different devices, or moving one, while that helps."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from time import process_time
from typing import Any

import numpy as np

from netpart.choices import PROFIT
from netpart.plan.price.net_profile import Floats
from netpart.plan.search.knapsacks import CLOSE, Knapsacks, Plan

Mask = np.ndarray[Any, np.dtype[np.bool_]]

PlanExchange = tuple[int, int | None, int]
"""(a partition, the one it swaps places with or None, the device that it moves to)."""

MOST = 1000
"""Limit of exchanges for one plan; far more than were ever needed."""


def improve_plan(problem: Knapsacks, plan: Plan, objective: str = "", until: float = inf) -> Plan:
    """``plan``, which must be legal, after exchanges that improve it, until none does or the clock (``process_time``)
    is at ``until``; it stays legal."""
    plan = plan.copy()
    for _ in range(MOST):
        if process_time() >= until:
            break
        found = _best_exchange(problem, plan, objective or problem.objective)
        if found is None:
            break
        partition, other, device = found
        if other is not None:
            plan[other] = plan[partition]
        plan[partition] = device
    return plan


def _best_exchange(problem: Knapsacks, plan: Plan, objective: str) -> PlanExchange | None:
    """The exchange with the largest gain, None if none gains; if none gains profit, one that shortens the makespan.

    Columns are the n partitions, followed by m empty partitions, one for each device: exchanging with one is a move.
    """
    n = len(problem.loads)
    m = len(problem.capacities)
    other_load = np.append(problem.loads, np.zeros(m))
    other_device = np.append(plan, np.arange(m))
    change = other_load[None, :] - problem.loads[:, None]
    legal = _allowed_exchanges(problem, plan, change, other_device)
    for gains in _exchange_gains(problem, plan, change, other_device, objective):
        i, x = divmod(int(np.where(legal, gains, -np.inf).argmax()), n + m)
        # A gain within rounding could be undone by the next exchange, for ever.
        if legal[i, x] and gains[i, x] > CLOSE:
            return i, (x if x < n else None), int(other_device[x])
    return None


def _exchange_gains(
    problem: Knapsacks, plan: Plan, change: Floats, other_device: Plan, objective: str
) -> Iterator[Floats]:
    """The gain of each exchange; for the profit, then the gain in makespan of exchanges that do not change it."""
    if objective == PROFIT:
        profit = _profit_gains(problem, plan, change, other_device)
        yield profit
        yield np.where(np.abs(profit) <= CLOSE, _makespan_gains(problem, plan, change, other_device), -np.inf)
    else:
        yield _makespan_gains(problem, plan, change, other_device)


def _allowed_exchanges(problem: Knapsacks, plan: Plan, change: Floats, other_device: Plan) -> Mask:
    """The exchanges between different devices that keep both within capacity, and leave none idle."""
    n = len(plan)
    load = problem.on_devices(plan)
    room = problem.room - load
    fits = (change <= room[plan][:, None]) & (-change <= room[other_device][None, :])
    # A move would empty a device that has a single partition.
    fits[np.bincount(plan, minlength=len(load))[plan] == 1, n:] = False
    return np.asarray(fits & (plan[:, None] != other_device[None, :]))


def _profit_gains(problem: Knapsacks, plan: Plan, change: Floats, other_device: Plan) -> Floats:
    """The change of (5) by each exchange, relative to it."""
    per_load = 1 / problem.capacities
    return change * (per_load[plan][:, None] - per_load[other_device][None, :]) / problem.profit(plan)


def _makespan_gains(problem: Knapsacks, plan: Plan, change: Floats, other_device: Plan) -> Floats:
    """The reduction of the later finish of both devices, if one of them is the last, relative to the makespan."""
    load = problem.on_devices(plan)
    speed = problem.speeds
    finish = load / speed
    here = (load[plan][:, None] + change) / speed[plan][:, None]
    there = (load[other_device][None, :] - change) / speed[other_device][None, :]
    last = finish[plan] >= finish.max() * (1 - CLOSE)
    return np.where(last[:, None], 1 - np.maximum(here, there) / finish.max(), -np.inf)
