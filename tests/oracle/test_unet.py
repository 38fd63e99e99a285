"""The 3-D U-Net follows PyTorch for 20 steps, uncut and in two cuts."""

from __future__ import annotations

from typing import Any

import pytest

from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job
from tests.house.tree import ROOT
from tests.oracle.harness import Weights, agree, by_torch, cut, prepared, uncut

pytestmark = pytest.mark.peers


def small(name: str = "unet3d-small") -> JobProto:
    return prepared(read_job(ROOT / "graphs" / "unet" / f"{name}.conf").proto, rows=4, rate=0.02)


def unet3d(w: Weights, x: Any, label: Any) -> Any:
    """Çiçek et al., 2016, with three levels and PyTorch's functions."""
    import torch
    from torch.nn import functional as f

    def twice(name: str, x: Any) -> Any:
        for i in (1, 2):
            x = f.conv3d(x, w[f"{name}-{i}-conv/weight"], w[f"{name}-{i}-conv/bias"], padding=1)
            x = f.relu(f.batch_norm(x, None, None, training=True))
        return x

    first = twice("d1", x)
    second = twice("d2", f.max_pool3d(first, 2))
    x = twice("d3", f.max_pool3d(second, 2))
    for name, skip in (("u2", second), ("u1", first)):
        x = f.conv_transpose3d(x, w[f"{name}-up/weight"], stride=2)
        x = twice(name, torch.cat([skip, x], 1))
    x = f.conv3d(x, w["classes/weight"], w["classes/bias"])
    return f.cross_entropy(x.flatten(2), label)


@pytest.fixture(scope="module")
def expected() -> list[float]:
    return by_torch(small(), unet3d)


def test_uncut(expected: list[float]) -> None:
    agree(uncut(small()), expected)


@pytest.mark.parametrize(("name", "workers"), [("unet3d-small", 3), ("unet3d-small-mixed", 2)])
def test_cut(name: str, workers: int, expected: list[float]) -> None:
    agree(cut(small(name), workers, "as-written"), expected)
