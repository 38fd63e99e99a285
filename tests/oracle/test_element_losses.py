"""Regressions and several labels follow PyTorch for 20 steps, from one's own data, uncut and in cuts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netpart.graph.partition import partition_job
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from netpart.worker.ensemble import Ensemble
from tests.oracle.harness import STEPS, TOLERANCE

pytestmark = pytest.mark.peers

TEXT = """
dtype: FLOAT64 updater { type: kSGD momentum: 0.5 learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: %s }
  layer { name: "fc" type: kInnerProduct srclayers: "data" partition_dim: %d innerproduct_conf { num_output: 6 }
    param { name: "w" init { type: kUniformSqrtFanIn } } param { name: "b" init { type: kConstant } } }
  layer { name: "grid" type: kReshape srclayers: "fc" reshape_conf { shape: 2 shape: 3 } partition_dim: %d }
  layer { name: "soft" type: kSoftmax srclayers: "grid" softmax_conf { axis: 1 } partition_dim: %d }
  layer { name: "sum" type: kAdd srclayers: "grid" srclayers: "soft" partition_dim: %d }
  layer { name: "flat" type: kFlatten srclayers: "sum" partition_dim: %d }
  layer { name: "loss" type: %s srclayers: "flat" srclayers: "data" partition_dim: %d }
}
"""
CUTS = {"uncut": (1, -1, -1, -1, -1, -1, -1), "rows": (3, 0, 0, 0, 0, 0, 0), "outputs": (2, 1, 1, 2, 1, 1, 1)}
ROWS = 9
Loss = Callable[[Any, Any], Any]


def torch_losses() -> dict[str, tuple[str, Loss]]:
    """The conf of each loss, and what PyTorch computes."""
    import torch
    from torch.nn import functional as f

    weights = [0.5, 2.0, 1.0, 3.0, 1.0, 0.1]
    listed = " ".join(f"positive_weight: {weight}" for weight in weights)
    half = lambda x, t: ((x - t) ** 2).sum() / 2 / len(x)  # noqa: E731
    return {
        "squares": ("kEuclideanLoss", half),
        "l1": ("kL1Loss loss_conf { scale: 2 }", lambda x, t: 2 * f.l1_loss(x, t)),
        "huber": ("kHuberLoss loss_conf { delta: 0.7 }", lambda x, t: f.huber_loss(x, t, delta=0.7)),
        "binary": ("kBinaryLoss", f.binary_cross_entropy_with_logits),
        "weighted": (
            f"kBinaryLoss loss_conf {{ {listed} }}",
            lambda x, t: f.binary_cross_entropy_with_logits(x, t, pos_weight=torch.tensor(weights).double()),
        ),
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data in a table and in arrays, in the working directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 4))
    y = x @ rng.normal(size=(4, 6)) * 2 + 0.1 * rng.normal(size=(40, 6))
    np.savez("d.npz", x=x, y=y, b=(y > 0).astype("int8"))
    for name, labels in (("t.csv", y), ("b.csv", (y > 0).astype(int))):
        lines = [",".join(map(repr, map(float, row))) for row in x]
        ends = [",".join(map(str, row.tolist())) for row in labels]
        Path(name).write_text("".join(f"{a},{b}\n" for a, b in zip(lines, ends, strict=True)))
    return tmp_path


def made(kind: str, conf: str, cut: str) -> tuple[JobProto, int]:
    """The job, and its number of workers."""
    binary = conf.startswith("kBinary")
    target = "" if binary else "target: true"
    columns = " ".join(f'label_column: "{5 + k}"' for k in range(6))
    reads = {
        "csv": f'kCSVInput store_conf {{ path: "{"b" if binary else "t"}.csv" {columns} {target} batchsize: {ROWS} }}',
        "arrays": f'kArrayInput array_conf {{ path: "d.npz" data: "x" label: "{"b" if binary else "y"}" {target} '
        f"shuffle: true batchsize: {ROWS} }}",
    }
    workers, *axes = CUTS[cut]
    if conf == "kEuclideanLoss" and cut == "outputs":
        axes[-1] = 0
    filled = (reads[kind], *axes[:5], conf, axes[5])
    return read_job_text(TEXT % filled).proto, workers


def followed(job: JobProto, loss: Loss) -> list[float]:
    """The losses of PyTorch from the initial weights, and on the batches, of netpart."""
    import torch

    source = Ensemble(partition_job(job, 1, uncut=True), keep=True)
    source.initialise()
    w, b = (torch.tensor(np.array(source.parameter(f"fc/{key}")), requires_grad=True) for key in "wb")
    sgd = torch.optim.SGD([w, b], lr=0.1, momentum=0.5)
    found = []
    for step in range(STEPS):
        source.step("train", step)
        x, t = (torch.tensor(np.array(source.activation("train", "data", k), "float64")) for k in (0, 1))
        grid = (x @ w.T + b).reshape(-1, 2, 3)
        value = loss((grid + torch.softmax(grid, 1)).flatten(1), t)
        sgd.zero_grad()
        value.backward()
        sgd.step()
        found.append(float(value.detach()))
    return found


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("kind", ["csv", "arrays"])
@pytest.mark.parametrize("name", ["squares", "l1", "huber", "binary", "weighted"])
def test_losses_follow_pytorch(name: str, kind: str, cut: str, folder: Path) -> None:
    conf, loss = torch_losses()[name]
    job, workers = made(kind, conf, cut)
    ensemble = Ensemble(partition_job(job, workers))
    ensemble.initialise()
    found = [ensemble.step("train", step)["loss/loss"] for step in range(STEPS)]
    halved = [value / 2 for value in found] if name == "squares" else found
    assert halved == pytest.approx(followed(job, loss), rel=TOLERANCE)
    assert np.mean(found[-5:]) < np.mean(found[:5])
