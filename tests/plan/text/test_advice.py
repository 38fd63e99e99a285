"""Warnings: each is given where it is due, says what cures it, and goes away when that is done."""

from __future__ import annotations

import pytest

from netpart.graph.partition import Partition, partition_job
from netpart.plan.text.advice import partition_warnings
from netpart.proto.reader import read_job_text

JOB = """
train_steps: 1
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput partition_dim: -1 store_conf { batchsize: 12 shape: 4 shape: 6 shape: 6 } }
  layer {
    name: "conv" type: kConvolution srclayers: "data" convolution_conf { num_filters: 9 kernel: 3 pad: 1 } %s
    param { name: "w" init { type: kUniform } }
  }
  layer {
    name: "ip" type: kInnerProduct srclayers: "conv" innerproduct_conf { num_output: 12 }
    param { name: "w" init { type: kUniform } } param { name: "b" init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }
}
"""


def cut(conv: str = "", workers: int = 3, text: str = JOB, overrides: tuple[str, ...] = ()) -> Partition:
    return partition_job(read_job_text(text % conv, overrides=overrides).proto, workers)


def test_a_good_cut_needs_no_advice() -> None:
    assert partition_warnings(cut("partition_dim: 1")) == []


@pytest.mark.parametrize(
    ("conv", "workers", "warning", "cure"),
    [
        ("partition_dim: 1 location: [0, 1, 2, 3, 0]", 4, "conv: channels 4×1+5, the largest part is 2.78",
         "neuralnet.remainder=SPREAD"),
        ("partition_dim: 1 remainder: LAST location: [0, 1, 2, 3, 0]", 4, "conv: channels 4×1+5",
         "conv.remainder=SPREAD"),
        ("cut { axis: 1 sizes: [1, 2, 6] }", 3, "conv: channels 1+2+6, the largest part is 2.00",
         "conv.cut[0].sizes=3,3,3"),
        ("", 5, "conv, ip, loss: batch 4×2+4, the largest part is 1.67", "neuralnet.remainder=SPREAD"),
        ("", 8, "conv, ip, loss: batch 7×1+5, the largest part is 3.33", "neuralnet.remainder=SPREAD"),
    ],
)  # fmt: skip
def test_an_uneven_cut_is_told_with_its_cure(conv: str, workers: int, warning: str, cure: str) -> None:
    (told,) = (w for w in partition_warnings(cut(conv, workers)) if w.startswith(warning))
    assert told.endswith(f"even it out with --set {cure}")
    assert not [w for w in partition_warnings(cut(conv, workers, overrides=(cure,))) if w.startswith(warning)]


def test_uneven_shards_have_no_option() -> None:
    blocks = "shard { region: [0, 10, 0, 9, 0, 6, 0, 6] } shard { worker: 1 region: [10, 12, 0, 9, 0, 6, 0, 6] }"
    (told,) = (w for w in partition_warnings(cut(blocks, 2)) if w.startswith("conv: "))
    assert told.endswith("batch 10+2, the largest part is 1.67 times the mean; give its shards boxes of like size")


def test_a_batch_that_cannot_be_even_is_told_its_size() -> None:
    text = JOB.replace("batchsize: 12", "batchsize: 6")
    (told,) = partition_warnings(cut(workers=4, text=text, overrides=("neuralnet.remainder=SPREAD",)))
    assert told.endswith("6 on 4 cannot be even, but --set data.store_conf.batchsize=8 can")
    cured = ("neuralnet.remainder=SPREAD", "data.store_conf.batchsize=8")
    assert partition_warnings(cut(workers=4, text=text, overrides=cured)) == []


def test_other_axes_that_cannot_be_even_need_fewer_parts() -> None:
    (told,) = partition_warnings(cut("partition_dim: 2 location: [0, 1, 2, 3]", 4))
    assert told == (
        "conv: rows 1+2+1+2, the largest part is 1.33 times the mean; cut it into fewer parts: 6 on 4 cannot be even"
    )


def test_the_phase_is_named_where_the_name_is_not_enough() -> None:
    text = JOB.replace("batchsize: 12", "batchsize: 6").replace('name: "data"', 'name: "data" include: kTrain')
    test = 'layer { name: "data" type: kSyntheticInput include: kTest store_conf { batchsize: 8 shape: [4, 6, 6] } }'
    text = text.replace("neuralnet {", "neuralnet { remainder: SPREAD " + test)
    (told,) = partition_warnings(cut(workers=4, text=text))
    assert "--set data@train.store_conf.batchsize=8" in told


def test_cuts_that_fell_back_are_told() -> None:
    text = JOB.replace("neuralnet {", "neuralnet { partition_dim: 2")
    told = partition_warnings(cut(text=text))
    assert "ip: the net's partition_dim 2 does not fit it, so it is cut on the batch" in told
    assert not [w for w in told if w.startswith("conv:")]


def test_idle_workers_are_told() -> None:
    text = JOB.replace("neuralnet {", "neuralnet { partition_dim: -1")
    (told,) = partition_warnings(
        cut("partition_dim: 1 location: [0, 1]", text=text, overrides=("conv.remainder=SPREAD",))
    )
    assert told == "worker 2 has nothing to do; name it in a location, or run with fewer --workers"


def test_what_nobody_reads_is_told() -> None:
    dead = '} layer { name: "extra" type: kReLU srclayers: "conv" } layer { name: "loss"'
    text = JOB.replace('} layer { name: "loss"', dead).replace('}\n  layer { name: "loss"', dead)
    (told,) = partition_warnings(cut(text=text))
    assert told == "extra: no layer reads it in training; remove it, or write include: kTest"


def test_a_net_without_a_loss_is_told() -> None:
    text = JOB[: JOB.index('  layer { name: "loss"')] + "}"
    assert any(
        told.startswith("neuralnet: expected a loss to train by, got none; ")
        for told in partition_warnings(cut(text=text))
    )


def test_a_job_without_a_number_of_steps_is_told() -> None:
    (told,) = partition_warnings(cut("partition_dim: 1", text=JOB.replace("train_steps: 1\n", "")))
    assert told.startswith("train_steps: expected the number of training steps, got none; write train_steps: 1000")


def test_a_part_that_nobody_reads_is_told() -> None:
    pool = """layer {
      name: "pool" type: kPooling srclayers: "conv" pooling_conf { kernel: 1 stride: 4 }
      partition_dim: 3 location: [0, 1] }
      layer { name: "ip" type: kInnerProduct srclayers: "pool" """
    text = JOB.replace('layer {\n    name: "ip" type: kInnerProduct srclayers: "conv" ', pool)
    told = partition_warnings(cut("partition_dim: 3 location: [0, 1, 2]", text=text))
    assert "conv-01 on worker 1: no other part reads this one; cut conv differently" in told
