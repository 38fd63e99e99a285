"""Exchanges and repairs: what comes out is legal, and an exchange never makes a plan worse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.choices import OBJECTIVES
from netpart.plan.search.knapsacks import Knapsacks
from netpart.plan.search.local_search import improve_plan
from netpart.plan.search.repair import repair_plan
from tests.plan.instances import instance


@given(seed=st.integers(0, 10**6), n=st.integers(3, 30), m=st.integers(1, 5), objective=st.sampled_from(OBJECTIVES))
def test_a_repaired_plan_is_legal_and_polishing_helps(seed: int, n: int, m: int, objective: str) -> None:
    problem, random = instance(seed, max(n, m), m, objective), np.random.default_rng(seed)
    plan = repair_plan(problem, random.integers(m, size=len(problem.loads)), random)
    if plan is not None:
        assert problem.is_legal(plan)
        better = improve_plan(problem, plan)
        assert problem.is_legal(better)
        assert problem.fitness(better) >= problem.fitness(plan)


def test_what_is_legal_is_not_repaired() -> None:
    problem = instance(1)
    random = np.random.default_rng(0)
    plan = repair_plan(problem, random.integers(8, size=50), random)
    assert plan is not None
    again = repair_plan(problem, plan, random)
    assert again is not None
    assert np.array_equal(again, plan)


def test_nothing_fits_where_nothing_can() -> None:
    problem = Knapsacks(np.array([3.0, 3.0, 3.0]), np.array([5.0, 5.0]), np.array([1.0, 1.0]))
    assert repair_plan(problem, np.array([0, 0, 1]), np.random.default_rng(0)) is None


@pytest.mark.parametrize(("start", "end"), [([0, 0, 0, 1], 4.0), ([0, 1, 1, 1], 4.0)])
def test_the_last_device_gives_away(start: list[int], end: float) -> None:
    problem = Knapsacks(np.array([3.0, 2.0, 2.0, 1.0]), np.array([9.0, 9.0]), np.array([1.0, 1.0]), "makespan")
    assert problem.makespan(improve_plan(problem, np.array(start))) == end
