"""Gradients are added where they belong by who makes them, if it can; by an instruction of its own if not."""

from __future__ import annotations

from netpart.graph.graph import LAYER
from netpart.graph.partition import Partition, partition_job
from netpart.layers.moments import Moments
from netpart.program.compile import compile_worker
from netpart.program.instructions import Accumulate, Backward
from netpart.program.passes.buffer_sharing import overwritten_views
from netpart.proto.reader import read_job_text
from tests.laws.workers import check_law

NORMALISED = """
name: "net" train_steps: 1
train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer {
    name: "data" type: kSyntheticInput
    store_conf { shape: 2 shape: 5 shape: 5 batchsize: 4 } synthetic_conf { classes: 4 }
  }
  layer {
    name: "conv" type: kCConvolution srclayers: "data" partition_dim: 0
    convolution_conf { num_filters: 4 kernel: 3 }
    param { name: "w" }
  }
  layer { name: "norm" type: kBM srclayers: "conv" partition_dim: 0 }
  layer { name: "flat" type: kFlatten srclayers: "norm" }
  layer {
    name: "fc" type: kInnerProduct srclayers: "flat" innerproduct_conf { num_output: 4 }
    param { name: "w2" } param { name: "b" }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""


def of_moments(cut: Partition) -> list[Backward]:
    """The instructions of worker 0 that run moments backward."""
    graph = cut.phases["train"][0].graph
    parts = {p.index for p in graph.parts if p.kind == LAYER and isinstance(graph.net.nodes[p.node].layer, Moments)}
    found = compile_worker(cut, 0).phases["train"].instructions
    return [i for i in found if isinstance(i, Backward) and i.part in parts]


def test_moments_add_their_gradient_to_that_of_the_norm() -> None:
    cut = partition_job(read_job_text(NORMALISED).proto, 2)
    (backward,) = of_moments(cut)
    assert backward.adds == (True,)
    assert backward.dx[0] not in list(overwritten_views(backward))
    assert not any(isinstance(i, Accumulate) for i in compile_worker(cut, 0).phases["train"].instructions)


def test_who_cannot_add_leaves_it_to_an_instruction() -> None:
    shortcut = 'name: "flat" type: kFlatten srclayers: "add"'
    add = 'layer { name: "add" type: kAdd srclayers: "norm" srclayers: "other" }'
    other = """layer {
    name: "other" type: kCConvolution srclayers: "norm" convolution_conf { num_filters: 4 kernel: 1 }
    param { name: "w3" }
  }"""
    text = NORMALISED.replace(
        'layer { name: "flat" type: kFlatten srclayers: "norm" }', f"{other} {add} layer {{ {shortcut} }}"
    )
    found = compile_worker(partition_job(read_job_text(text).proto, 1), 0).phases["train"].instructions
    assert sum(isinstance(i, Accumulate) for i in found) == 1
    assert not any(any(i.adds) for i in found if isinstance(i, Backward))


TWICE = """
name: "twice" train_steps: 1 dtype: FLOAT64
train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.01 } }
neuralnet {
  micro_batches: 2
  layer {
    name: "data" type: kSyntheticInput location: 0
    store_conf { shape: 3 batchsize: 4 } synthetic_conf { classes: 2 }
  }
  layer {
    name: "fc" type: kInnerProduct srclayers: "data" location: 0
    innerproduct_conf { num_output: 3 bias_term: false } param { name: "w" init { type: kGaussian } }
  }
  layer { name: "relu" type: kReLU srclayers: "data" location: 1 }
  layer { name: "far" type: kEuclideanLoss srclayers: "fc" srclayers: "relu" location: 0 }
  layer { name: "near" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" location: 0 }
}
"""


def test_a_team_that_comes_twice_adds_up_gradients_in_the_order_of_its_stages() -> None:
    """Backward of "far" comes first, for it is in the second stage of worker 0; "near", behind it in the job, is in the
    first."""
    check_law(partition_job(read_job_text(TWICE).proto, 2), 0)
