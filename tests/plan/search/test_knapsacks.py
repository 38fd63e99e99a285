"""Knapsacks: what is legal, what it is worth, and bounds that no plan beats."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.choices import MAKESPAN, OBJECTIVES
from netpart.errors import ConfigError
from netpart.plan.search.knapsacks import Knapsacks, make_knapsacks
from tests.plan.instances import best_of_all, instance


def problem(loads: list[float], capacities: list[float]) -> Knapsacks:
    return Knapsacks(np.array(loads), np.array(capacities), np.array(capacities))


def test_the_paper_s_objective_is_how_full_the_devices_are() -> None:
    found = problem([3, 2, 1], [4, 8])
    plan = np.array([0, 1, 1])
    assert found.profit(plan) == pytest.approx(3 / 4 + 2 / 8 + 1 / 8)
    assert found.makespan(plan) == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    ("plan", "legal"), [([0, 1, 1], True), ([0, 0, 1], False), ([1, 1, 1], False), ([0, 1, 0], True)]
)
def test_legal_is_within_capacities_and_nobody_idle(plan: list[int], legal: bool) -> None:
    assert problem([3, 2, 1], [4, 8]).is_legal(np.array(plan)) == legal


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(8))
def test_no_plan_beats_the_bound(seed: int, objective: str) -> None:
    found = instance(seed, 6, 3, objective)
    best = best_of_all(found)
    if best is not None:
        worst = found.bound - found.value(best) if objective != MAKESPAN else found.value(best) - found.bound
        assert worst >= -1e-9


def test_small_devices_are_poured_full_first() -> None:
    assert problem([3, 3, 3], [4, 8]).bound == pytest.approx(1 + 5 / 8)


def test_capacities_are_fair_shares_and_slack() -> None:
    found = make_knapsacks([1, 2, 3], [1, 2], 0.5)
    assert found.capacities.tolist() == pytest.approx([3.0, 6.0])


@pytest.mark.parametrize(
    ("loads", "capacities", "told"),
    [
        ([1], [2, 2], "one for each of 2 devices"),
        ([3, 3], [2, 2], "sum to 4"),
        ([5, 1], [4, 4], "partition 0: expected a load of at most 4, got 5"),
        ([3, 3], [2, 9], "devices: expected capacities of at least 3, got 2"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(loads: list[float], capacities: list[float], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        problem(loads, capacities).check()


def test_equal_devices_leave_only_the_makespan_to_be_better() -> None:
    found = problem([2, 2, 1, 1], [4, 4])
    even, odd = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    assert found.profit(even) == found.profit(odd)
    assert found.fitness(even) > found.fitness(odd)
    assert found.is_perfect(even)
    assert not found.is_perfect(odd)
