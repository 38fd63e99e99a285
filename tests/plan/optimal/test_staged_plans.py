"""Staged plans: what is found runs, computes what one worker computes, and takes what the search says."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netpart.collectives.network import LinkCost
from netpart.errors import ConfigError
from netpart.graph.invariants import check_graph
from netpart.graph.partition import partition_job
from netpart.plan.optimal.plan_prices import PricedJob
from netpart.plan.optimal.search_plans import search_plans
from netpart.plan.optimal.stage_insides import StageInsides
from netpart.plan.optimal.staged_plans import search_staged_plans, with_count
from netpart.plan.optimal.tied_stages import TiedStages
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.devices import Devices, DeviceSpec, devices_of_cluster, equal_devices
from netpart.plan.price.predict import predict_step
from netpart.plan.text.write_plan import write_plan
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import Job, read_job, read_job_text
from netpart.resources import zoo_folder
from tests.laws.nets import nets
from tests.laws.workers import check_law
from tests.thorough import example_count

HOSTS = """cluster {
  device { count: 4 flops: 1e9 }
  link { latency: 1e-9 overhead: 1e-9 bandwidth: 1e12 }
  host { count: 2 workers: 2 latency: 1e-9 bandwidth: 1e6 }
}"""


def is_possible(job: JobProto) -> bool:
    """False for a job that cannot have its micro-batches: of too few rows, or with a loss over the mini-batch."""
    try:
        partition_job(job, 1, phases=("train",))
    except ConfigError:
        return False
    return True


@settings(max_examples=example_count(40))
@given(
    draw=st.data(), speeds=st.lists(st.sampled_from([1e7, 3e7]), min_size=2, max_size=4), count=st.sampled_from([2, 3]),
    link=st.sampled_from([LinkCost(), LinkCost(1e-12, 1e-12, 1e12)]),
)  # fmt: skip
def test_a_pipeline_is_run_as_it_is_written(
    draw: st.DataObject, speeds: list[float], count: int, link: LinkCost
) -> None:
    job = with_count(draw.draw(nets()).job, count)
    devices = Devices(tuple(DeviceSpec(f"d{speed:g}", speed) for speed in speeds), link)
    assume(is_possible(job))
    priced = PricedJob(job, None, devices, {})
    for plan in search_staged_plans(priced, [count], 0.0):
        cut = priced.partition(plan.choices)
        again = read_job_text(write_plan(Job(job, None, "job", ""), cut, "the law", Path())).proto
        read = partition_by_scheme(again, len(devices), phases=("train",))
        assert read.graph.placements == cut.graph.placements
        assert len(read.phases["train"]) == plan.micro_batches
        assert predict_step(read, devices).seconds == plan.seconds
        check_graph(read.graph)
        check_law(read, 0)


def test_stages_are_on_hosts_where_messages_between_these_are_slow() -> None:
    """Inside, each stage is cut over the two workers of its host."""
    job = read_job(zoo_folder() / "alexnet/alexnet-small.conf").proto
    devices = devices_of_cluster(read_job_text(HOSTS).proto.cluster)
    priced = PricedJob(job, None, devices, {})
    plan = search_staged_plans(priced, [8])[0]
    assert plan.stages == ((0, 1), (2, 3))
    assert plan.seconds < search_plans(priced).best_plans(1)[0].seconds


def test_there_is_no_pipeline_of_one_worker_or_one_micro_batch() -> None:
    job = read_job(zoo_folder() / "mlp/column-row.conf").proto
    assert not search_staged_plans(PricedJob(job, None, equal_devices(1, 1e9), {}), [1, 2, 4])
    assert not search_staged_plans(PricedJob(job, None, equal_devices(2, 1e9), {}), [1])


@pytest.mark.parametrize("room", [0.0, 1.0])
def test_stages_that_no_workers_can_hold_are_not_tried(room: float) -> None:
    job = read_job(zoo_folder() / "mlp/column-row.conf").proto
    priced = PricedJob(job, None, equal_devices(2, 1e9, memory=room), {})
    assert not search_staged_plans(priced, [2])


def test_stages_that_share_a_parameter_pay_for_its_sum() -> None:
    """The embedding of a GPT is read by the first and by the last layer: 32 tokens of 16 numbers between two hosts."""
    job = with_count(read_job(zoo_folder() / "gpt/gpt2-small.conf").proto, 2)
    priced = PricedJob(job, None, devices_of_cluster(read_job_text(HOSTS).proto.cluster), {}, passes=2)
    nodes = StageInsides(priced).nodes
    net, tied = priced.net(), TiedStages(priced, nodes)
    nbytes = 4 * prod(net.by_name["tokens"].layer.params[0].shape)
    first, last = ([nodes.index(net.by_name[name].index)] for name in ("tokens", "next"))
    port = 2 * nbytes / 1e6 / priced.passes
    assert tied.stage_seconds(first, range(2)) == tied.stage_seconds(last, range(2, 4))
    assert tied.stage_seconds(first, range(2)) == pytest.approx(port / 2, rel=0.1)
    assert tied.stage_seconds([*first, *last], range(2)) == 0
    assert tied.stage_seconds(first, range(1)) < port / 100
