"""Predictions: the closed forms of simple cases, and figures that other parts of netpart count too."""

from __future__ import annotations

import pytest

from netpart.collectives.network import LinkCost
from netpart.families import SCHEMES
from netpart.graph.graph import LAYER
from netpart.graph.partition import Partition
from netpart.plan.partition import partition_by_callable, partition_by_scheme
from netpart.plan.price.cost import part_cost
from netpart.plan.price.devices import Devices, DeviceSpec, equal_devices
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.price.predict import predict_memory, predict_step
from netpart.plan.schemes.data import data_parallel_by_speed
from netpart.plan.schemes.on_workers import scheme_from_workers
from netpart.plan.text.plan_table import tabulate_partition
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from netpart.spec import size
from tests.graph.jobs import HEAD, data, layer

FREE = LinkCost(0.0, 0.0, 1e30)
WEIGHTS = "param { init { type: kGaussian } } param { init { type: kGaussian } }"
LAYERS = ("fc1", "fc2", "fc3", "fc4")


def chain(micro_batches: int = 1) -> JobProto:
    """Four products of equal work and a loss."""
    text, source = HEAD + data(16, "shape: 32", 32, more=""), "data"
    for name in LAYERS:
        text += layer(name, "kInnerProduct", source, more=f"innerproduct_conf {{ num_output: 32 }} {WEIGHTS}")
        source = name
    job = read_job_text(text + layer("loss", "kSoftmaxLoss", source, "data") + "}").proto
    job.neuralnet.micro_batches = micro_batches
    return job


def pipeline(micro_batches: int) -> Partition:
    """Two layers on each of two workers."""
    layout = scheme_from_workers(dict(zip(LAYERS, [(0,), (0,), (1,), (1,)], strict=True)))
    return partition_by_callable(layout, chain(micro_batches), 2)


def halves_of(found: Partition, *names: str) -> float:
    """FLOPs of the gradients of parameters of these layers."""
    parts = [p for p in found.graph.parts if p.kind == LAYER and found.graph.net.nodes[p.node].name in names]
    return sum(part_cost(found.graph, part).params for part in parts)


def flops(found: Partition) -> list[int]:
    return [worker.flops for worker in tabulate_partition(found).workers]


def test_a_recomputed_layer_goes_forward_twice() -> None:
    """On one worker a step takes as much longer as the forward of the layers that are computed again."""
    job = chain()
    plain = predict_step(partition_by_scheme(job, 1), equal_devices(1, 1e6)).seconds
    for conf in job.neuralnet.layer:
        conf.recompute = conf.name in ("fc1", "fc3")
    again = partition_by_scheme(job, 1)
    parts = [p for p in again.graph.parts if again.graph.net.nodes[p.node].name in ("fc1", "fc3")]
    more = sum(part_cost(again.graph, part).forward for part in parts) / 1e6
    assert more > 0
    assert predict_step(again, equal_devices(1, 1e6)).seconds == pytest.approx(plain + more)


def test_one_worker_takes_its_work() -> None:
    found = partition_by_scheme(chain(), 2, scheme="sequential")
    told = predict_step(found, equal_devices(2, 1e6))
    assert told.seconds == pytest.approx(sum(flops(found)) / 1e6)
    assert told.moved == 0


def test_a_free_link_leaves_the_busiest_worker() -> None:
    found = partition_by_scheme(chain(), 2, scheme="data")
    told = predict_step(found, equal_devices(2, 1e6, link=FREE))
    assert told.seconds == pytest.approx(max(flops(found)) / 1e6)
    assert told.busy == pytest.approx([work / 1e6 for work in flops(found)])


@pytest.mark.parametrize("micro_batches", [1, 2, 4, 8])
def test_a_pipeline_has_its_bubble(micro_batches: int) -> None:
    """(K - 1) / M more than the busiest worker, as GPipe says, if its stages were even: of K = 2; less what worker 1
    computes when the gradient of its input has left."""
    found = pipeline(micro_batches)
    told = predict_step(found, equal_devices(2, 1e6, link=FREE))
    work = flops(found)
    hidden = halves_of(found, "fc3")
    assert told.seconds == pytest.approx((max(work) + min(work) / micro_batches - hidden) / 1e6, rel=0.01)


def test_gradients_of_parameters_are_computed_while_others_go_on() -> None:
    """fc4 | fc3 | fc2 | fc1 in turns of two workers: what the next waits for leaves first; fc1 hands nothing back."""
    layout = scheme_from_workers(dict(zip(LAYERS, [(0,), (1,), (0,), (1,)], strict=True)))
    found = partition_by_callable(layout, chain(), 2)
    told = predict_step(found, equal_devices(2, 1e6, link=FREE))
    hidden = halves_of(found, "fc2", "fc3", "fc4")
    assert told.seconds == pytest.approx((sum(flops(found)) - hidden) / 1e6, rel=0.01)


def test_messages_take_what_logp_says() -> None:
    found, link = pipeline(1), LinkCost(1e-3, 1e-4, 1e6)
    free, told = (predict_step(found, equal_devices(2, 1e9, link=each)) for each in (FREE, link))
    (there,) = {e.nbytes for e in compute_ledger(found).entries if e.target == 1 and "fc2" in e.name}
    labels = [e.nbytes for e in compute_ledger(found).entries if "data" in e.name]
    assert told.moved == 2 * there + sum(labels)
    assert told.seconds > free.seconds + 2 * (there / 1e6 + 1e-3)


def test_speeds_and_rates_scale_the_work() -> None:
    found = partition_by_scheme(chain(), 2, scheme="sequential")
    first = predict_step(found, equal_devices(2, 1e6))
    assert predict_step(found, equal_devices(2, 2e6)).seconds == pytest.approx(first.seconds / 2)
    assert predict_step(found, equal_devices(2, 1e6), dict.fromkeys([*LAYERS, "loss"], 3.0)).seconds == pytest.approx(
        first.seconds * 3
    )


@pytest.mark.parametrize("scheme", SCHEMES.names())
def test_bytes_and_memory_are_those_of_the_plan(scheme: str) -> None:
    found = partition_by_scheme(chain(2), 3, scheme=scheme)
    assert predict_step(found, equal_devices(3, 1e6)).moved == compute_ledger(found).total
    assert predict_memory(found) == tuple(worker.memory for worker in tabulate_partition(found).workers)


def test_faster_devices_get_more_rows() -> None:
    devices = Devices((DeviceSpec("fast", 3e6), DeviceSpec("slow", 1e6)), FREE)
    found = partition_by_callable(data_parallel_by_speed(devices.speeds), chain(), 2)
    rows = [size(s.region) for s in found.graph.placements[found.graph.net.by_name["fc1"].index].shards]
    assert rows == [12 * 32, 4 * 32]
    even = predict_step(partition_by_scheme(chain(), 2, scheme="data"), devices)
    assert predict_step(found, devices).seconds < even.seconds


def test_a_layer_that_nobody_placed_goes_with_its_reader_or_source() -> None:
    found = partition_by_callable(
        scheme_from_workers({"fc1": (1,), "fc2": (1, 2), "fc3": (2,), "fc4": (2,)}), chain(), 3
    )
    at = {node.name: found.graph.placements[node.index].workers for node in found.graph.net.nodes}
    assert at == {"data": (1,), "fc1": (1,), "fc2": (1, 2), "fc3": (2,), "fc4": (2,), "loss": (2,)}
