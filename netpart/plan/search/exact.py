"""EXACT: the optimal allocation with a proof, by OR-Tools' CP-SAT, or by branch and bound for few partitions."""

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
"""Integer units of the objective in CP-SAT, which is limited to integers: a profit of 1, or the shortest makespan."""
MOST_WORTH = 2.0
"""Limit at which the worth of a partition is cut off; a partition with more worth does not fit."""


@dataclass(frozen=True)
class ProvedPlan:
    """A legal plan, and a bound of the objective that no plan can beat; the plan is optimal if it reaches the bound."""

    plan: Plan
    bound: float


def solve_exactly(problem: Knapsacks, limit: float, start: Plan | None = None) -> ProvedPlan:
    """The best plan found in ``limit`` seconds, with the proved bound; never worse than ``start``, a legal plan.

    Raises ConfigError if it is proved that no legal plan exists, or if OR-Tools is needed and not installed. Raises
    NetpartError if no legal plan was found in time.
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
    """Do ``solve_exactly`` by branch and bound."""
    plan, proved = branch_and_bound(problem, limit, start)
    if plan is None and proved:
        raise _infeasible_error()
    if plan is None:
        raise NetpartError(f"EXACT: expected a legal plan within {limit:g} s, found none; increase --limit")
    return ProvedPlan(plan, problem.value(plan) if proved else problem.bound)


def _infeasible_error() -> ConfigError:
    """The error for a problem without a legal plan."""
    hint = "increase --slack, or make more --partitions"
    return ConfigError("partitions", "an allocation within all capacities", "none: it is proved that none exists", hint)


def solve_by_cp_sat(problem: Knapsacks, limit: float, start: Plan | None, cp: Any) -> ProvedPlan:
    """Do ``solve_exactly`` by CP-SAT.

    The model includes the closed-form bound, so that a plan that reaches it is proved optimal at once. Its loads and
    rooms are the integers by which a plan is legal or not, so what it proves is valid for these.
    """
    model = cp.CpModel()
    solver = cp.CpSolver()
    on = _allocation_variables(model, problem, start)
    _set_objective(model, problem, on)
    solver.parameters.max_time_in_seconds = limit
    # One thread and a fixed seed make the search reproducible.
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    status = solver.solve(model)
    if status == cp.INFEASIBLE:
        raise _infeasible_error()
    plans = [] if start is None else [start]
    if status in (cp.OPTIMAL, cp.FEASIBLE):
        plans.append(np.array([[solver.value(x) for x in row] for row in on]).argmax(axis=1))
    if not plans:
        raise NetpartError(f"EXACT: expected a legal plan within {limit:g} s, found none; increase --limit")
    plan = max(plans, key=problem.fitness)
    return ProvedPlan(plan, _proved_bound(problem, problem.value(plan), solver.best_objective_bound))


def _proved_bound(problem: Knapsacks, value: float, found: float) -> float:
    """The better of the closed form and the bound that CP-SAT proved, in the units of the objective.

    Each partition's worth, or seconds, is rounded down, so the true profit may be one unit more for each partition.
    """
    if problem.objective == PROFIT:
        return max(value, min(problem.bound, (found + len(problem.loads)) / UNITS))
    return min(value, max(problem.bound, found / UNITS * problem.bound))


def _allocation_variables(model: Any, problem: Knapsacks, start: Plan | None) -> list[list[Any]]:
    """The variables x_ij of equation 4 with constraints (6) to (8), and at least one partition per device."""
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
    """Set the objective: equation 5, or the makespan as a multiple of its bound.

    The bound also holds for devices that are filled to a share CLOSE above their capacity.
    """
    if problem.objective == PROFIT:
        worth: Floats = np.minimum(problem.loads[:, None] / problem.capacities[None, :], MOST_WORTH)
        # Rounded down, as is every term: ``_proved_bound`` adds what rounding may have lost.
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
