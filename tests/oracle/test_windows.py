"""Pooling in ceil mode, divisors of means, and pads on one side follow PyTorch for 20 steps, uncut and in cuts."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from tests.oracle.harness import Weights, agree, by_torch, cut, prepared, uncut

pytestmark = pytest.mark.peers

TEXT = """
name: "windows" seed: 3 train_steps: 20 train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.05 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput location: 0 store_conf { batchsize: 8 shape: [2, 11, 9] }
    synthetic_conf { classes: 3 } }
  layer { name: "conv" type: kConvolution srclayers: "data" %(cut)s
    convolution_conf { num_filters: 4 kernel: 3 stride: 2 pad: 0 pad_end: 2 pad_end_x: 1 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant value: 0.1 } } }
  layer { name: "tanh" type: kActivation srclayers: "conv" activation_conf { type: TANH } }
  layer { name: "back" type: kTransposedConvolution srclayers: "tanh" %(cut)s
    convolution_conf { num_filters: 3 kernel: 3 stride: 2 pad: 0 pad_end: 1 pad_end_y: 2 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant value: 0.1 } } }
  layer { name: "pool" type: kPooling srclayers: "back" %(cut)s
    pooling_conf { kernel: 3 stride: 2 pad: 1 ceil_mode: true %(pool)s } }
  layer { name: "ip" type: kInnerProduct srclayers: "pool" innerproduct_conf { num_output: 3 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant value: 0 } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }
}
"""
POOLS = ["pool: MAX", "pool: AVG", "pool: AVG count_include_pad: false"]


def job(pool: str, where: str = "") -> JobProto:
    return prepared(read_job_text(TEXT % {"pool": pool, "cut": where}).proto, rows=8, rate=0.05)


def net(pool: str, w: Weights, x: Any, label: Any) -> Any:
    """The same with PyTorch's functions: pads on one side are ``pad`` of the input, and cropping of the output."""
    from torch.nn import functional as f

    x = f.conv2d(f.pad(x, (0, 1, 0, 2)), w["conv/weight"], w["conv/bias"], stride=2).tanh()
    x = f.conv_transpose2d(x, w["back/weight"], w["back/bias"], stride=2)[:, :, :-2, :-1]
    if pool == "pool: MAX":
        x = f.max_pool2d(x, 3, 2, 1, ceil_mode=True)
    else:
        x = f.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad="false" not in pool)
    return f.cross_entropy(f.linear(x.flatten(1), w["ip/weight"].flatten(1), w["ip/bias"]), label)


@pytest.mark.parametrize("pool", POOLS)
def test_pytorch_computes_the_same(pool: str) -> None:
    expected = by_torch(job(pool), partial(net, pool))
    agree(uncut(job(pool)), expected)
    for where in ("partition_dim: 2", "partition_dim: 1", "cut { axis: 3 parts: 2 }"):
        agree(cut(job(pool, where), 3, "as-written"), expected)
