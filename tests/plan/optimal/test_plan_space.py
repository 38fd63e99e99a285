"""Plan space: bytes are those of the ledger, and the bound is the least of all plans."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netpart.plan.optimal.layer_tables import LayerTables
from netpart.plan.optimal.plan_prices import PricedJob, output_transfers
from netpart.plan.optimal.plan_space import Assignment, PlanSpace, build_plan_space
from netpart.plan.price.devices import Devices, devices_in_hosts, equal_devices
from netpart.plan.price.ledger import compute_ledger
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job, read_job_text
from netpart.resources import zoo_folder
from tests.laws.nets import nets
from tests.thorough import example_count

TWO_HOSTS = read_job_text(
    'name: "hosts" cluster { device { name: "a" count: 4 flops: 1e9 } host { count: 2 workers: 2 bandwidth: 1e8 } }'
).proto


def space_of(job: JobProto, workers: int) -> tuple[PricedJob, PlanSpace]:
    priced = PricedJob(job, None, equal_devices(workers, 1e9), {})
    return priced, build_plan_space(LayerTables(priced.net(), priced.setting()))


def random_plan(job: JobProto, devices: Devices, seed: int) -> tuple[PricedJob, PlanSpace, Assignment]:
    """A plan with any choice of each layer, in the space of its choices alone."""
    priced, rng = PricedJob(job, None, devices, {}), np.random.default_rng(seed)
    layers = LayerTables(priced.net(), priced.setting())
    kinds = {layers.kinds[v]: size for v, size in layers.sizes.items()}
    space = build_plan_space(layers.restricted({kind: [int(rng.integers(size))] for kind, size in kinds.items()}))
    return priced, space, dict.fromkeys(space.layers.variables, 0)


@pytest.mark.parametrize("name", ["mnist/conv", "gpt/gpt2-small", "unet/unet2d-small"])
@pytest.mark.parametrize("seed", range(6))
def test_bytes_are_those_of_the_ledger(name: str, seed: int) -> None:
    job = read_job(zoo_folder() / f"{name}.conf").proto
    priced, space, assignment = random_plan(job, equal_devices(2, 1e9), seed)
    ledger = compute_ledger(priced.partition(space.plan_choices(assignment)))
    assert space.moved_bytes(assignment) == ledger.total


@settings(max_examples=example_count(20), deadline=None)
@given(draw=st.data(), workers=st.sampled_from([2, 4]), hosts=st.booleans(), seed=st.integers(0, 99))
def test_seconds_of_transfers_are_those_of_the_graph(draw: st.DataObject, workers: int, hosts: bool, seed: int) -> None:
    job = draw.draw(nets()).job
    job.neuralnet.micro_batches = 1
    job.cluster.CopyFrom(TWO_HOSTS.cluster if hosts and workers == 4 else JobProto().cluster)
    devices = devices_in_hosts(equal_devices(workers, 1e9), job.cluster)
    priced, space, assignment = random_plan(job, devices, seed)
    partition = priced.partition(space.plan_choices(assignment))
    real = output_transfers(partition, space.layers.net, devices)
    for found in space.outputs.transfers:
        table = space.outputs.table(found)
        seconds = table.forward.item(), table.backward.item()
        assert seconds == pytest.approx(real.get((found.node, found.output), (0.0, 0.0)))


@settings(max_examples=example_count(20), deadline=None)
@given(draw=st.data(), seed=st.integers(0, 99))
def test_bounds_of_transfers_hold(draw: st.DataObject, seed: int) -> None:
    _, space, _ = random_plan(draw.draw(nets()).job, devices_in_hosts(equal_devices(4, 1e9), TWO_HOSTS.cluster), seed)
    low = build_plan_space(space.layers, exact=False).outputs
    for found in space.outputs.transfers:
        table, bound = space.outputs.table(found), low.table(found)
        assert bound.forward.item() <= table.forward.item() * (1 + 1e-9)
        assert bound.backward.item() <= table.backward.item() * (1 + 1e-9)


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
