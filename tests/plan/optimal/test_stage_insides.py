"""Stage insides: stages that are cut in their own best way, on the workers of their stage."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netpart.plan.optimal.plan_prices import PricedJob
from netpart.plan.optimal.plan_space import build_plan_space
from netpart.plan.optimal.stage_insides import StageInsides
from netpart.plan.price.devices import devices_of_cluster, equal_devices
from netpart.plan.price.layer_loads import profile_net
from netpart.proto.reader import read_job, read_job_text
from netpart.resources import zoo_folder

HOSTS = "cluster { device { count: 6 flops: 1e9 } host { count: 2 workers: 3 bandwidth: 1e8 } }"


def job_of(name: str) -> PricedJob:
    return PricedJob(read_job(zoo_folder() / f"{name}.conf").proto, None, equal_devices(4, 1e9), {})


def test_a_stage_takes_at_most_what_is_expected_of_its_layers() -> None:
    insides = StageInsides(job_of("alexnet/alexnet-small"))
    count = len(insides.nodes)
    for run in (range(0, 1), range(1, 3), range(0, 4)):
        expected = insides.layer_seconds(run)
        for a, b in ((0, count), (0, count // 2), (count // 3, count)):
            assert insides.stage_seconds(range(a, b), run) <= expected[a:b].sum() * 1.01


def test_on_one_worker_a_layer_takes_its_work() -> None:
    priced = job_of("mlp/column-row")
    insides = StageInsides(priced)
    work = [layer.work / 1e9 for layer in profile_net(insides.net, 4).layers]
    assert insides.layer_seconds(range(3, 4)).tolist() == pytest.approx(work)
    assert insides.stage_seconds([1, 2], range(0, 1)) == pytest.approx(sum(work[1:3]))


def test_workers_in_like_places_are_priced_once() -> None:
    devices = devices_of_cluster(read_job_text(HOSTS).proto.cluster)
    insides = StageInsides(replace(job_of("mlp/column-row"), devices=devices))
    prices = {run: insides.layer_seconds(run).sum() for run in (range(0, 4), range(2, 6), range(0, 3), range(1, 4))}
    assert len(insides.spaces) == 3
    assert prices[range(0, 4)] == prices[range(2, 6)]
    assert prices[range(0, 3)] < prices[range(1, 4)]


def test_layers_are_on_the_workers_of_their_group() -> None:
    priced = replace(job_of("mlp/column-row"), groups={"fc1": (0, 1), "fc2": (2, 3)})
    space = build_plan_space(priced.layer_tables())
    for node in space.layers.net.nodes:
        used = {worker for choice in space.layers.choices(node.index) for worker in choice.workers}
        assert used == set(priced.groups.get(node.name, range(4)))
