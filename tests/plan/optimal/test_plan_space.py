"""Plan space: bytes are those of the ledger, and the bound is the least of all plans."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netpart.plan.optimal.plan_prices import PricedJob
from netpart.plan.optimal.plan_space import Assignment, PlanSpace, build_plan_space
from netpart.plan.price.devices import equal_devices
from netpart.plan.price.ledger import compute_ledger
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from tests.laws.nets import nets
from tests.thorough import example_count


def space_of(job: JobProto, workers: int) -> tuple[PricedJob, PlanSpace]:
    priced = PricedJob(job, None, equal_devices(workers, 1e9), {})
    return priced, build_plan_space(priced.net(), priced.setting())


def random_assignment(space: PlanSpace, seed: int) -> Assignment:
    """Any choice of each layer, but no loss cut on its classes: a block of classes may lie in two parts."""
    rng = np.random.default_rng(seed)
    found = {}
    for v in space.layers.variables:
        layer = space.layers.net.nodes[v].layer
        able = [
            c
            for c, each in enumerate(space.layers.choices(v))
            if not layer.is_loss or layer.output.rank - 1 not in each.over
        ]
        found[v] = able[int(rng.integers(len(able)))]
    return found


@pytest.mark.parametrize("name", ["mnist/conv", "gpt/gpt2-small", "unet/unet2d-small"])
@pytest.mark.parametrize("seed", range(6))
def test_bytes_are_those_of_the_ledger(name: str, seed: int) -> None:
    job = read_job(zoo_folder() / f"{name}.conf").proto
    priced, space = space_of(job, 2)
    assignment = random_assignment(space, seed)
    ledger = compute_ledger(priced.partition(space.plan_choices(assignment)))
    assert space.moved_bytes(assignment) == ledger.total


@settings(max_examples=example_count(20))
@given(draw=st.data(), weight=st.sampled_from([0.0, 0.5, 1.0]))
def test_the_bound_is_the_least_of_all_plans(draw: st.DataObject, weight: float) -> None:
    sketch = draw.draw(nets())
    _, space = space_of(sketch.job, 2)
    assume(prod(space.layers.sizes.values()) <= 3000)
    found = space.bound(weight)
    every = [
        dict(zip(space.layers.sizes, values, strict=True))
        for values in product(*map(range, space.layers.sizes.values()))
    ]

    def weighted(assignment: Assignment) -> float:
        return float(sum(t.costs[tuple(assignment[v] for v in t.scope)] for t in space.cost_tables(weight)))

    assert found.seconds == pytest.approx(min(map(weighted, every)))
    assert all(space.additive_seconds(assignment) >= found.seconds * (1 - 1e-9) for assignment in every)
