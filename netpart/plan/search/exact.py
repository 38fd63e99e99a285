"""EXACT: the best allocation there is, with a proof: by OR-Tools' CP-SAT, or for few partitions by branch and bound."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from netpart.choices import PROFIT
from netpart.errors import ConfigError, NetpartError
from netpart.plan.price.net_profile import Floats
from netpart.plan.search.branch_and_bound import MOST, branch_and_bound
from netpart.plan.search.knapsacks import CLOSE, Knapsacks, Plan

UNITS = 1 << 32
"""What CP-SAT, which knows whole numbers alone, counts the objective in: a profit of 1, or the shortest makespan."""
MOST_WORTH = 2.0
"""At which what no partition is worth is cut off: one that is worth more does not fit."""


@dataclass(frozen=True)
class ProvedPlan:
    """A legal plan, and a value of the objective that none can beat; it is optimal if it reaches that."""

    plan: Plan
    bound: float


def solve_exactly(problem: Knapsacks, limit: float, start: Plan | None = None) -> ProvedPlan:
    """The best plan found in ``limit`` seconds, with the bound that is proved; never worse than ``start``, a legal one.

    Raises ConfigError if it is proved that there is no legal plan or OR-Tools is needed and not installed, NetpartError
    if the time did not suffice to find one.
    """
    problem.check()
    if start is not None and problem.is_perfect(start):
        return ProvedPlan(start, problem.value(start))
    if len(problem.loads) <= MOST:
        return _solve_by_branching(problem, limit, start)
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        got = "no OR-Tools"
        hint = "pip install 'netpart[plan]', or make fewer --partitions"
        raise ConfigError("EXACT", f"OR-Tools for more than {MOST} partitions", got, hint) from None
    return solve_by_cp_sat(problem, limit, start, cp_model)


def _solve_by_branching(problem: Knapsacks, limit: float, start: Plan | None) -> ProvedPlan:
    """``solve_exactly`` by branch and bound."""
    plan, proved = branch_and_bound(problem, limit, start)
    if plan is None and proved:
        raise _infeasible_error()
    if plan is None:
        raise NetpartError(f"EXACT: expected a legal plan within {limit:g} s, found none; give more --limit")
    return ProvedPlan(plan, problem.value(plan) if proved else problem.bound)


def _infeasible_error() -> ConfigError:
    """What is said of a problem without a legal plan."""
    hint = "give the devices more --slack, or make more --partitions"
    return ConfigError("partitions", "an allocation within all capacities", "none: it is proved that none exists", hint)


def solve_by_cp_sat(problem: Knapsacks, limit: float, start: Plan | None, cp: Any) -> ProvedPlan:
    """``solve_exactly`` by CP-SAT; the closed-form bound is given to it, so that a plan that reaches it is proved at
    once.

    It is given the loads and rooms by which a plan is legal or not, so what it proves of them is so.
    """
    model = cp.CpModel()
    solver = cp.CpSolver()
    on = _allocation_variables(model, problem, start)
    _set_objective(model, problem, on)
    solver.parameters.max_time_in_seconds = limit
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    status = solver.solve(model)
    if status == cp.INFEASIBLE:
        raise _infeasible_error()
    plans = [] if start is None else [start]
    if status in (cp.OPTIMAL, cp.FEASIBLE):
        plans.append(np.array([[solver.value(x) for x in row] for row in on]).argmax(axis=1))
    if not plans:
        raise NetpartError(f"EXACT: expected a legal plan within {limit:g} s, found none; give more --limit")
    plan = max(plans, key=problem.fitness)
    return ProvedPlan(plan, _proved_bound(problem, problem.value(plan), solver.best_objective_bound))


def _proved_bound(problem: Knapsacks, value: float, found: float) -> float:
    """The better of the closed form and what CP-SAT proved, in the units of the objective.

    Each partition's worth, or seconds, is rounded down: of a profit, what it proved may be a unit more for each.
    """
    if problem.objective == PROFIT:
        return max(value, min(problem.bound, (found + len(problem.loads)) / UNITS))
    return min(value, max(problem.bound, found / UNITS * problem.bound))


def _allocation_variables(model: Any, problem: Knapsacks, start: Plan | None) -> list[list[Any]]:
    """x_ij of equation 4 with constraints (6) to (8), and at least one partition each."""
    loads = problem.whole_loads
    room = problem.whole_room
    devices = range(len(room))
    on = [[model.new_bool_var(f"{i} on {j}") for j in devices] for i in range(len(loads))]
    for row in on:
        model.add_exactly_one(row)
    for j in devices:
        model.add(sum(p * row[j] for p, row in zip(loads, on, strict=True)) <= room[j])
        model.add_at_least_one(row[j] for row in on)
    if start is not None:
        for i, row in enumerate(on):
            for j in devices:
                model.add_hint(row[j], int(start[i] == j))
    return on


def _set_objective(model: Any, problem: Knapsacks, on: list[list[Any]]) -> None:
    """Equation 5, or the makespan as a multiple of its bound.

    What no plan can do holds for devices that are filled to a share CLOSE above their capacity, too.
    """
    if problem.objective == PROFIT:
        worth: Floats = np.minimum(problem.loads[:, None] / problem.capacities[None, :], MOST_WORTH)
        coefficients = np.floor(worth * UNITS).astype(int)
        total = sum(int(c) * x for row, cs in zip(on, coefficients, strict=True) for x, c in zip(row, cs, strict=True))
        model.add(total <= ceil(problem.bound * (1 + CLOSE) * UNITS))
        model.maximize(total)
        return
    seconds = problem.loads[:, None] / problem.speeds[None, :] / problem.bound
    latest = model.new_int_var(0, int(np.ceil(seconds.sum() * UNITS)), "makespan")
    for j in range(len(problem.speeds)):
        model.add(sum(int(s) * row[j] for row, s in zip(on, np.floor(seconds[:, j] * UNITS), strict=True)) <= latest)
    model.minimize(latest)
