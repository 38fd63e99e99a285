"""GABRA: legal, near the bound, the same for the same seed, and at an end even if every offspring is a duplicate."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from netpart.choices import MAKESPAN, OBJECTIVES
from netpart.errors import ConfigError, NetpartError
from netpart.plan.search.gabra import crossover, invert_genes, run_gabra, select_parent
from netpart.plan.search.knapsacks import Knapsacks
from tests.plan.instances import best_of_all, instance


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(3))
def test_it_comes_near_the_bound_within_capacities(seed: int, objective: str) -> None:
    problem = instance(seed, objective=objective)
    found = run_gabra(problem, seed)
    assert problem.is_legal(found.plan)
    assert problem.gap(problem.value(found.plan)) < 0.01


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(4))
def test_it_finds_the_best_of_few(seed: int, objective: str) -> None:
    problem = instance(seed, 7, 3, objective)
    best = best_of_all(problem)
    if best is None:
        with pytest.raises((ConfigError, NetpartError)):
            run_gabra(problem)
    else:
        assert problem.value(run_gabra(problem).plan) == pytest.approx(problem.value(best))


def test_the_best_only_gets_better_and_chance_is_the_seed_s() -> None:
    first, second, other = (run_gabra(instance(3), seed, generations=40) for seed in (1, 1, 2))
    assert list(first.best) == sorted(first.best)
    assert (first.best, first.mean) == (second.best, second.mean)
    assert first.mean != other.mean


def test_duplicates_count_as_generations() -> None:
    """Six plans are all there are, fewer than the population: every offspring is a duplicate, and none is perfect."""
    problem = Knapsacks(np.ones(3), np.array([9.0, 9.0]), np.ones(2), MAKESPAN)
    assert len(run_gabra(problem, generations=25).best) == 25


def test_ties_of_equal_devices_go_to_the_makespan() -> None:
    loads, ones = np.array([5.0, 4, 3, 3, 3]), np.ones(2)
    found = run_gabra(Knapsacks(loads, 20 * ones, ones))
    assert np.bincount(found.plan, loads).tolist() == [9, 9]


def test_the_fitter_parent_is_selected() -> None:
    members = [np.array([i]) for i in range(4)]
    fitness = [(float(i), 0.0) for i in range(4)]
    random = np.random.default_rng(0)
    counts = Counter(int(select_parent(members, fitness, random)[0]) for _ in range(2000))
    assert [k for k, _ in counts.most_common()] == [3, 2, 1, 0]


def test_genes_come_from_parents_and_inversion_keeps_them() -> None:
    random = np.random.default_rng(0)
    first, second = np.zeros(20, np.int64), np.ones(20, np.int64)
    crossed = [crossover(first, second, random) for _ in range(500)]
    assert {int(gene) for child in crossed for gene in child} == {0, 1}
    assert 0.15 < np.mean([not child.any() for child in crossed]) < 0.25
    assert sorted(invert_genes(np.arange(20), random)) == list(range(20))


def test_no_allocation_is_an_error_that_says_so() -> None:
    problem = Knapsacks(np.array([3.0, 3.0, 3.0]), np.array([5.0, 5.0]), np.array([1.0, 1.0]))
    with pytest.raises(NetpartError, match="within capacities, found none"):
        run_gabra(problem, population=10)


def test_a_time_limit_ends_it_with_the_best_plan_so_far() -> None:
    problem = instance(4)
    none, some = (run_gabra(problem, generations=10**9, limit=limit) for limit in (0.0, 0.2))
    assert len(none.best) == 1
    assert 1 < len(some.best) < 10**9
    assert problem.is_legal(none.plan)
    assert problem.fitness(some.plan) >= problem.fitness(none.plan)
