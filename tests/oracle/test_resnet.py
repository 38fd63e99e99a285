"""ResNet-18 follows PyTorch for 20 steps, uncut and in two cuts."""

from __future__ import annotations

from typing import Any

import pytest

from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job
from tests.house.tree import ROOT
from tests.oracle.harness import Weights, agree, by_torch, cut, prepared, uncut

pytestmark = pytest.mark.peers

SIDE, THINNER = 32, 8


def thin() -> JobProto:
    """ResNet-18 with an eighth of its filters, for small images of ten classes."""
    job = read_job(ROOT / "graphs" / "resnet" / "resnet18.conf").proto
    for layer in job.neuralnet.layer:
        if layer.HasField("convolution_conf"):
            layer.convolution_conf.num_filters //= THINNER
        if layer.HasField("innerproduct_conf"):
            layer.innerproduct_conf.num_output = 10
        if layer.HasField("store_conf"):
            layer.store_conf.shape[:], layer.synthetic_conf.classes = [3, SIDE, SIDE], 10
    return prepared(job, rows=8, rate=0.02)


def resnet18(w: Weights, x: Any, label: Any) -> Any:
    """He et al., 2015, with PyTorch's functions."""
    from torch.nn import functional as f

    def norm(name: str, x: Any) -> Any:
        return f.batch_norm(x, None, None, w[f"{name}/weight"], w[f"{name}/bias"], training=True)

    def unit(name: str, x: Any, stride: int, pad: int) -> Any:
        return norm(f"{name}-norm", f.conv2d(x, w[f"{name}-conv/weight"], stride=stride, padding=pad))

    x = f.relu(norm("norm1", f.conv2d(x, w["conv1/weight"], stride=2, padding=3)))
    x = f.max_pool2d(x, 3, 2, 1)
    for stage in (2, 3, 4, 5):
        for block in (1, 2):
            name, stride = f"s{stage}b{block}", 2 if stage > 2 and block == 1 else 1
            y = unit(f"{name}-2", f.relu(unit(f"{name}-1", x, stride, 1)), 1, 1)
            x = f.relu(y + (unit(f"{name}-shortcut", x, stride, 0) if stride == 2 else x))
    return f.cross_entropy(f.linear(x.mean((2, 3)), w["fc/weight"].flatten(1), w["fc/bias"]), label)


@pytest.fixture(scope="module")
def expected() -> list[float]:
    return by_torch(thin(), resnet18)


def test_uncut(expected: list[float]) -> None:
    agree(uncut(thin()), expected)


@pytest.mark.parametrize(("workers", "scheme"), [(3, "data"), (2, "gather-scatter")])
def test_cut(workers: int, scheme: str, expected: list[float]) -> None:
    agree(cut(thin(), workers, scheme), expected)
