"""Narrowing: the best plan is among the choices that stay, and no plan takes less than what is told of the others."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netpart.plan.optimal.branching import PlanBranching
from netpart.plan.optimal.choice_bounds import least_by_entry
from netpart.plan.optimal.elimination import CostTable
from netpart.plan.optimal.narrowing import SLACK, narrow_space
from netpart.plan.optimal.plan_prices import PricedJob
from netpart.plan.optimal.plan_space import PlanSpace, build_plan_space
from netpart.plan.price.devices import Devices, DeviceSpec, equal_devices
from tests.laws.nets import nets
from tests.thorough import example_count

TWO_SPEEDS = Devices((DeviceSpec("fast", 3e7), DeviceSpec("slow", 1e7)))


def best_seconds(space: PlanSpace) -> PlanBranching:
    found = PlanBranching(space, 0.0, 0.0, lambda: False)
    found.explore()
    return found


@settings(max_examples=example_count(15), deadline=None)
@given(draw=st.data(), devices=st.sampled_from([equal_devices(2, 1e9), TWO_SPEEDS]))
def test_the_best_plan_is_in_the_narrow_space(draw: st.DataObject, devices: Devices) -> None:
    job = draw.draw(nets()).job
    job.neuralnet.micro_batches = 1
    priced = PricedJob(job, None, devices, {})
    narrow, whole = narrow_space(priced.loose_space()), build_plan_space(priced.layer_tables())
    best, found = best_seconds(whole), best_seconds(narrow.space)
    assert found.best == pytest.approx(best.best)
    assert min(found.bound, narrow.others) <= best.best * (1 + 1e-9)
    assert narrow.others > best.best * (1 + SLACK / 2) or narrow.others == np.inf


@settings(max_examples=example_count(15), deadline=None)
@given(draw=st.data(), devices=st.sampled_from([equal_devices(2, 1e9), TWO_SPEEDS]), asked=st.integers(0, 12))
def test_what_is_cut_off_has_plans_and_a_bound(draw: st.DataObject, devices: Devices, asked: int) -> None:
    """The time is up when it was asked for so many times."""
    job = draw.draw(nets()).job
    job.neuralnet.micro_batches = 1
    priced, left = PricedJob(job, None, devices, {}), iter(range(asked))
    narrow = narrow_space(priced.loose_space(), is_late=lambda: next(left, None) is None)
    best, found = best_seconds(build_plan_space(priced.layer_tables())), best_seconds(narrow.space)
    assert best.best * (1 - 1e-9) <= found.best < np.inf
    assert min(found.bound, narrow.others) <= best.best * (1 + 1e-9)
    assert narrow.others > 0


@settings(max_examples=example_count(30), deadline=None)
@given(seed=st.integers(0, 9999), variables=st.integers(1, 5))
def test_the_least_of_an_entry_is_that_of_all_assignments(seed: int, variables: int) -> None:
    """Also of nets in several pieces, which share no variable."""
    rng = np.random.default_rng(seed)
    sizes = {v: int(rng.integers(1, 4)) for v in range(variables)}
    assume(prod(sizes.values()) <= 200)
    scopes = [(v,) for v in sizes]
    for _ in range(3):
        scopes.append(tuple(rng.permutation(variables)[: int(rng.integers(1, min(3, variables) + 1))].tolist()))
    tables = [CostTable(scope, rng.random([sizes[v] for v in scope])) for scope in scopes]
    sums = {
        at: sum(t.costs[tuple(at[v] for v in t.scope)] for t in tables) for at in product(*map(range, sizes.values()))
    }
    for table, least in zip(tables, least_by_entry(tables, sizes), strict=True):
        for entry in np.ndindex(least.shape):
            having = [each for at, each in sums.items() if tuple(at[v] for v in table.scope) == entry]
            assert least[entry] == pytest.approx(min(having))
