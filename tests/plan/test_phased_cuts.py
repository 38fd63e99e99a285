"""A cut that names a phase counts in that alone: nets of other batch sizes, plans that say so, and the errors."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError
from netpart.graph.partition import Partition, partition_job
from netpart.plan.text.advice import partition_warnings
from netpart.plan.text.spelling import cut_fields
from netpart.plan.text.write_plan import write_plan
from netpart.proto.phase import counts_in_phase
from netpart.proto.reader import Job, read_job_text
from netpart.spec import Region
from netpart.verify.compare import verify_job

JOB = """train_steps: 1 test_steps: 1 dtype: FLOAT64
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput include: kTrain
    store_conf { batchsize: 6 shape: 4 } synthetic_conf { classes: 3 } }
  layer { name: "data" type: kSyntheticInput include: kTest
    store_conf { batchsize: 5 shape: 4 } synthetic_conf { classes: 3 } }
  layer { name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 3 } %s
    param { init { type: kGaussian } } param { init { type: kGaussian } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }
}
"""
INHERITED: list[Region] = [((0, 1), (0, 3)), ((1, 2), (0, 3)), ((2, 5), (0, 3))]
TRAIN = "cut { phase: kTrain axis: 0 sizes: [1, 2, 3] }"


def rows(partition: Partition, phase: str) -> list[Region]:
    """What the parts of the inner product have in a phase."""
    graph = partition.phases[phase][0].graph
    return [shard.region for shard in graph.placements[graph.net.by_name["ip"].index].shards]


def placed(cut: str) -> Partition:
    return partition_job(read_job_text(JOB % cut).proto, 3)


@pytest.mark.parametrize(
    ("cut", "test"),
    [
        (TRAIN, INHERITED),
        (f"{TRAIN} partition_dim: 1", [((0, 5), (k, k + 1)) for k in range(3)]),
        (f"{TRAIN} cut {{ phase: kTest sizes: [4, 1] }}", [((0, 4), (0, 3)), ((4, 5), (0, 3))]),
        (f"{TRAIN} cut {{ phase: kTest over: INPUT parts: 2 location: [2, 0] }}", [((0, 5), (0, 3))] * 2),
        (f"{TRAIN} cut {{ phase: kVal axis: 1 parts: 3 }}", INHERITED),
    ],
    ids=["as the net says", "as the short form says", "sizes of its own", "over inputs", "another phase"],
)
def test_each_phase_has_its_cuts(cut: str, test: list[Region]) -> None:
    partition = placed(cut)
    assert rows(partition, "train") == [((0, 1), (0, 3)), ((1, 3), (0, 3)), ((3, 6), (0, 3))]
    assert rows(partition, "test") == test
    assert verify_job(read_job_text(JOB % cut).proto, 3, steps=2).holds


def test_a_grid_may_have_cuts_of_one_phase_and_of_all() -> None:
    partition = placed("cut { phase: kTrain sizes: [2, 4] } cut { axis: 1 parts: 1 }")
    assert rows(partition, "train") == [((0, 2), (0, 3)), ((2, 6), (0, 3))]
    assert rows(partition, "test") == [((0, 5), (0, 3))]


def test_the_net_that_does_not_fit_is_named() -> None:
    with pytest.raises(ConfigError, match=r"3 sizes that sum to 5, got .*; this is the test net; with phase: kTrain"):
        placed("cut { axis: 0 sizes: [1, 2, 3] }")
    shards = "".join(f"shard {{ worker: {k} region: [{2 * k}, {2 * k + 2}, 0, 3] }}" for k in range(3))
    with pytest.raises(ConfigError, match=r"; this is the test net, and a shard with phase: kTrain counts"):
        placed(shards)


def written(cut: str) -> tuple[Job, Partition, Job]:
    """A job, how it is cut, and the plan of that with what the layer itself says taken away before."""
    job = read_job_text(JOB % cut)
    partition = partition_job(job.proto, 3)
    bare = read_job_text(JOB % "")
    plan = read_job_text(write_plan(bare, partition, "a test", job.folder))
    return job, partition, plan


@pytest.mark.parametrize(
    "cut",
    [f"{TRAIN} cut {{ phase: kTest sizes: [4, 1] location: [2, 1] }}",
     f"{TRAIN} cut {{ phase: kTest axis: 1 sizes: [2, 1] }}",
     f"{TRAIN} location: [2, 1, 0] cut {{ phase: kTest parts: 3 }}", f"{TRAIN} partition_dim: -1"],
)  # fmt: skip
def test_plans_say_it(cut: str) -> None:
    """In cuts, not shard by shard, and the plan is cut in the same way."""
    _, partition, plan = written(cut)
    (layer,) = (layer for layer in plan.proto.neuralnet.layer if layer.name == "ip")
    assert layer.cut
    assert not layer.shard, cut_fields(layer)
    assert [sum(counts_in_phase(cut, phase) for cut in layer.cut) for phase in ("train", "test", "val")] == [1, 1, 0]
    again = partition_job(plan.proto, 3)
    for phase in ("train", "test"):
        assert again.phases[phase][0].graph.placements == partition.phases[phase][0].graph.placements
    text = write_plan(plan, again, "a test", plan.folder)
    assert read_job_text(text).proto == plan.proto


def test_the_warning_of_an_uneven_batch_names_the_cut_of_training() -> None:
    """A cut that says neither axis nor over is one of the batch."""
    partition = placed("cut { phase: kTest sizes: [4, 1] } cut { phase: kTrain sizes: [1, 1, 4] }")
    assert [w for w in partition_warnings(partition) if w.startswith("ip: ")] == [
        "ip: batch 1+1+4, the largest part is 2.00 times the mean; even it out with --set ip.cut[1].sizes=2,2,2"
    ]
