"""Law: one worker that is simulated for all that are alike does what each of them does, at the same instants."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from netpart.collectives.network import LinkCost, Network, one_link_network
from netpart.graph.partition import Partition, partition_job
from netpart.measure.alike_workers import AlikeWorkers
from netpart.measure.model_simulation import ModelSimulation
from netpart.measure.simulate import PricedSimulation, profile_simulation
from netpart.measure.step_profile import StepProfile
from netpart.measure.timeline import Timeline
from netpart.plan.partition import partition_by_scheme
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.reader import read_job_text
from tests.laws.nets import Example, examples
from tests.thorough import example_count

SPEED = 1e8
STEPS = 4


def model_simulation(cut: Partition, network: Network, levelled: bool = False) -> ModelSimulation:
    speeds = [SPEED] * cut.workers
    alike = AlikeWorkers(cut, network, speeds, job_kernel_class(cut.job), levelled)
    return ModelSimulation(cut, network, speeds, alike)


def both(cut: Partition, network: Network, levelled: bool = False) -> tuple[ModelSimulation, PricedSimulation]:
    return model_simulation(cut, network, levelled), PricedSimulation(cut, network, [SPEED] * cut.workers)


def assert_same_instants(found: Timeline, every: Timeline) -> None:
    for worker in range(every.workers):
        ours, theirs = found.of_worker(found.model(worker)), every.of_worker(worker)
        assert [(e.verb, e.start, e.end) for e in ours] == [(e.verb, e.start, e.end) for e in theirs]


@given(example=examples())
@settings(max_examples=example_count(60))
def test_alike_workers_act_at_the_same_instants(example: Example) -> None:
    example.job.cluster.ClearField("host")
    cut = partition_job(example.job, example.workers, phases=("train",))
    models, every = both(cut, one_link_network(cut.workers))
    assert_same_instants(models.run(STEPS), every.run(STEPS))


NET = """
name: "net"
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { shape: 48 batchsize: %d } }
  layer {
    name: "one" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: %d bias_term: false }
    param { name: "w" }
  }
  layer { name: "relu" type: kReLU srclayers: "one" }
  layer {
    name: "two" type: kInnerProduct srclayers: "relu" innerproduct_conf { num_output: 12 bias_term: false }
    param { name: "v" }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "two" srclayers: "data" }
}"""


def cut_of(rows: int, neurons: int, workers: int, scheme: str) -> Partition:
    return partition_by_scheme(read_job_text(NET % (rows, neurons), "net").proto, workers, scheme=scheme)


def test_of_even_parts_one_worker_is_played() -> None:
    cut = cut_of(24, 64, 4, "DATA")
    models, every = both(cut, one_link_network(4))
    assert len(models.players) == 1
    assert_same_instants(models.run(STEPS), every.run(STEPS))
    ours, theirs = (profile_simulation(each, 2) for each in both(cut, one_link_network(4)))
    assert table_of(ours.profile) == table_of(theirs.profile)


def table_of(profile: StepProfile) -> list[object]:
    return [profile.step_seconds, profile.workers, [(row.name, row.forward, row.rate) for row in profile.layers]]


@pytest.mark.parametrize(
    ("rows", "neurons", "scheme"), [(23, 61, "DATA"), (41, 7, "DATA"), (20, 100, "GATHER_SCATTER")]
)
def test_levelled_collectives_change_a_step_little(rows: int, neurons: int, scheme: str) -> None:
    """Blocks differ by a row; so do the messages of an all-reduce, where all are played."""
    for bandwidth in (1e9, 1e6):
        cut = cut_of(rows, neurons, 20, scheme)
        models, every = both(cut, one_link_network(20, LinkCost(bandwidth=bandwidth)), levelled=True)
        assert len(models.players) < cut.workers
        ours, theirs = (each.run(STEPS).seconds(STEPS - 2) for each in (models, every))
        assert ours == pytest.approx(theirs, rel=0.1)


NORMED = """
name: "normed"
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { shape: 1 shape: 8 shape: 8 batchsize: 64 } }
  layer { name: "conv" type: kConvolution srclayers: "data" convolution_conf { num_filters: %d kernel: 3 pad: 1 }
    param { name: "w" } param { name: "b" } }
  layer { name: "norm" type: kBM srclayers: "conv" }
  layer { name: "ip" type: kInnerProduct srclayers: "norm" innerproduct_conf { num_output: 4 bias_term: false }
    param { name: "v" } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }
}"""


@pytest.mark.parametrize(("channels", "workers"), [(8, 20), (4, 24), (3, 31), (8, 32)])
def test_workers_wait_as_those_that_they_stand_for(channels: int, workers: int) -> None:
    """The sums of a batch norm have fewer elements than there are workers: most blocks are empty, and not sent. Those
    of 3 channels on 31 workers go along a tree."""
    job = read_job_text(NORMED % channels, "normed").proto
    cut = partition_by_scheme(job, workers, scheme="DATA", compact=True)
    models, every = both(cut, one_link_network(workers), levelled=True)
    ours, theirs = (each.run(STEPS).seconds(STEPS - 2) for each in (models, every))
    assert ours == pytest.approx(theirs, rel=0.1)


def test_workers_that_read_from_each_other_in_another_order_are_alike_where_levelled() -> None:
    """From neurons to rows, all read from all: each has its own part at another place of the order."""
    cut = cut_of(40, 60, 20, "GATHER_SCATTER")
    assert len(model_simulation(cut, one_link_network(20), levelled=True).players) < 5
