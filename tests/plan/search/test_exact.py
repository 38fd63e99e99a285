"""EXACT: what it proves is so, by branch and bound and by CP-SAT."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from netpart.choices import OBJECTIVES
from netpart.errors import ConfigError
from netpart.plan.search.branch_and_bound import branch_and_bound
from netpart.plan.search.exact import solve_by_cp_sat, solve_exactly
from netpart.plan.search.gabra import run_gabra
from netpart.plan.search.greedy import allocate_greedily
from netpart.plan.search.knapsacks import Knapsacks
from tests.plan.instances import best_of_all, instance

IMPOSSIBLE = Knapsacks(np.array([3.0, 3.0, 3.0]), np.array([5.0, 5.0]), np.array([1.0, 1.0]))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_best_of_all(seed: int, objective: str) -> None:
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    problem = instance(seed, 7, 3, objective)
    best = best_of_all(problem)
    if best is None:
        with pytest.raises(ConfigError):
            solve_exactly(problem, 10)
        return
    plan, proved = branch_and_bound(problem, 10)
    assert plan is not None
    solved = solve_by_cp_sat(problem, 10, None, cp_model)
    assert proved
    assert [problem.value(p) for p in (plan, solved.plan)] == pytest.approx([problem.value(best)] * 2)
    assert solve_exactly(problem, 10).bound == pytest.approx(problem.value(best))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_it_is_never_worse_than_what_it_starts_from(objective: str) -> None:
    pytest.importorskip("ortools")
    problem = instance(4, objective=objective)
    start = max(run_gabra(problem, generations=30).plan, allocate_greedily(problem), key=problem.fitness)
    found = solve_exactly(problem, 0.2, start)
    assert problem.is_legal(found.plan)
    assert problem.fitness(found.plan) >= problem.fitness(start)
    assert problem.gap(found.bound) <= problem.gap(problem.value(found.plan)) + 1e-12


def test_that_there_is_no_plan_is_proved() -> None:
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    assert branch_and_bound(IMPOSSIBLE, 10) == (None, True)
    told = "it is proved that none exists"
    with pytest.raises(ConfigError, match=told):
        solve_exactly(IMPOSSIBLE, 10)
    with pytest.raises(ConfigError, match=told):
        solve_by_cp_sat(IMPOSSIBLE, 10, None, cp_model)


@pytest.mark.parametrize(("loads", "devices"), [(21, 3), (24, 4), (30, 3), (33, 11), (49, 7), (12, 3)])
def test_equal_loads_that_fill_equal_devices_have_a_plan(loads: int, devices: int) -> None:
    pytest.importorskip("ortools")
    problem = Knapsacks(np.ones(loads), np.full(devices, loads / devices), np.ones(devices))
    found = solve_exactly(problem, 5.0)
    assert problem.is_legal(found.plan)
    assert np.bincount(found.plan).tolist() == [loads // devices] * devices
    assert found.bound == pytest.approx(devices)


def test_a_plan_is_legal_or_not_in_whatever_order_loads_are_added() -> None:
    """A sum of these floats depends on their order."""
    loads = np.array([0.1, 0.2, 0.3, 0.6])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        problem = Knapsacks(loads[order], np.array([0.6, 0.6]), np.ones(2))
        assert problem.is_legal(np.array([[0, 0, 0, 1][i] for i in order]))
        assert not problem.is_legal(np.array([[0, 0, 1, 1][i] for i in order]))


def test_work_that_is_none_has_a_plan() -> None:
    problem = Knapsacks(np.zeros(3), np.ones(2), np.ones(2), "makespan")
    assert problem.is_legal(np.array([0, 1, 1]))


def test_without_or_tools_many_partitions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(ConfigError, match=r"pip install 'netpart\[plan\]'"):
        solve_exactly(instance(1), 1)
