"""Placements in words."""

from __future__ import annotations

import pytest

from netpart.graph.partition import partition_job
from netpart.plan.text.cut_text import cut_text, sizes_text
from netpart.proto.reader import read_job_text

JOB = """
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput partition_dim: -1 store_conf { batchsize: 8 shape: 4 shape: 6 shape: 6 } }
  layer {
    name: "conv" type: kConvolution srclayers: "data" convolution_conf { num_filters: 8 kernel: 3 pad: 1 } %s
    param { name: "w" init { type: kUniform } }
  }
  layer {
    name: "ip" type: kInnerProduct srclayers: "conv" innerproduct_conf { num_output: 10 } partition_dim: 1
    param { name: "w" init { type: kUniform } } param { name: "b" init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" partition_dim: 0 }
}
"""


def text_of(name: str, cut: str = "", workers: int = 3) -> str:
    graph = partition_job(read_job_text(JOB % cut).proto, workers).graph
    node = graph.net.by_name[name]
    return cut_text(node.layer, graph.placements[node.index])


@pytest.mark.parametrize(
    ("cut", "text"),
    [
        ("partition_dim: -1", "whole"),
        ("partition_dim: 0", "batch 2+2+4"),
        ("partition_dim: 1", "channels 2+2+4"),
        ("partition_dim: 2", "rows 2+2+2"),
        ("partition_dim: 3 location: [0, 2]", "columns 3+3"),
        ("location: 2", "whole"),
        ("cut { over: REPLICA parts: 3 }", "3 replicas"),
        ("cut { over: INPUT parts: 2 }", "inputs 2+2"),
        ("cut { axis: 1 sizes: [1, 7] } location: [0, 1]", "channels 1+7"),
        ("cut { axis: 0 parts: 2 } cut { axis: 2 parts: 2 } location: [0, 1, 2, 0]", "batch 4+4 × rows 3+3"),
        ("cut { axis: 0 parts: 2 } cut { over: REPLICA parts: 2 } location: [0, 1, 2, 0]", "batch 4+4 × 2 replicas"),
    ],
)
def test_cuts_of_a_convolution(cut: str, text: str) -> None:
    assert text_of("conv", cut) == text


def test_cuts_of_neurons_and_losses() -> None:
    assert (text_of("data"), text_of("ip"), text_of("loss")) == ("whole", "neurons 3+3+4", "batch 2+2+4")


@pytest.mark.parametrize(
    ("sizes", "text"),
    [([2, 2, 4], "2+2+4"), ([4] * 4, "4+4+4+4"), ([4] * 9 + [6], "9×4+6"), ([1, 2, 2, 1, 1], "1+2×2+2×1")],
)
def test_many_parts_are_counted(sizes: list[int], text: str) -> None:
    assert sizes_text(sizes) == text
