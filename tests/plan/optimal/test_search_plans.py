"""The search: never worse than Megatron's cut or a cut of space, within the memory, and with idle workers."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from netpart.errors import NetpartError
from netpart.plan.optimal.plan_prices import PricedJob
from netpart.plan.optimal.search_plans import PlanSearch, search_plans
from netpart.plan.partition import partition_by_callable, partition_by_scheme
from netpart.plan.price.devices import Devices, DeviceSpec, equal_devices
from netpart.plan.price.predict import predict_memory, predict_step
from netpart.plan.schemes.placing import cut_on_axis
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder


def job_of(name: str) -> JobProto:
    job = read_job(zoo_folder() / f"{name}.conf").proto
    return job


def search(job: JobProto, devices: Devices, limit: float = 5.0) -> PlanSearch:
    return search_plans(PricedJob(job, None, devices, {}), limit)


def test_no_scheme_is_faster() -> None:
    job, devices = job_of("mlp/column-row"), equal_devices(3, 1e9)
    found = search(job, devices)
    for scheme in ("DATA", "COLUMN_ROW", "GATHER_SCATTER", "NAIVE"):
        copy = JobProto()
        copy.CopyFrom(job)
        cut = partition_by_scheme(copy, 3, scheme=scheme)
        assert found.plans[0].seconds <= predict_step(cut, devices).seconds * (1 + 1e-9)
    assert found.proved
    assert found.gap <= 0.02


def test_without_time_there_is_a_plan_and_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every search is late from the beginning."""
    job, devices = job_of("mlp/column-row"), equal_devices(3, 1e9)
    full = search(job, devices)
    monkeypatch.setattr(sys.modules[search_plans.__module__], "LEAST", 0.0)
    found = search(job, devices, limit=0.0)
    assert full.plans[0].additive * (1 - 1e-9) <= found.plans[0].additive
    assert 0 < found.bound <= full.bound * (1 + 1e-9)
    assert found.gap == pytest.approx(found.plans[0].additive / found.bound - 1)


def test_a_cut_of_space_is_found() -> None:
    """Two workers with little bandwidth: the rows of an image of one sample are the one cut that helps."""
    job = job_of("unet/unet2d-small")
    job.neuralnet.layer[0].store_conf.batchsize[:] = [1]
    devices = equal_devices(2, 1e8)
    cut = partition_by_callable(lambda net, n: [cut_on_axis(node, 2, n) for node in net.nodes], job, 2)
    assert search(job, devices).plans[0].seconds <= predict_step(cut, devices).seconds


def test_workers_are_idle_where_fewer_are_faster() -> None:
    devices = Devices((DeviceSpec("fast", 1e12), DeviceSpec("slow", 1e3)))
    found = search(job_of("mlp/column-row"), devices)
    assert {choice.workers for choice in found.plans[0].choices.values()} == {(0,)}


def test_a_plan_fits_the_memory() -> None:
    """Half a byte less than what the fastest plan needs: the next one is taken."""
    job, devices = job_of("mlp/column-row"), equal_devices(2, 1e9)
    free = search(job, devices)
    need = max(predict_memory(free.priced.partition(free.plans[0].choices)))
    small = replace(devices, devices=tuple(replace(d, memory=need * 0.75) for d in devices.devices))
    found = search(job, small)
    assert found.fitting is not None
    assert max(predict_memory(found.priced.partition(found.fitting.choices))) <= need * 0.75


def test_many_workers_are_refused() -> None:
    with pytest.raises(NetpartError, match="at most 16 workers, got 17"):
        search(job_of("mlp/column-row"), equal_devices(17, 1e9))
