"""Class weights, ignored labels and means by weights are those of PyTorch's cross_entropy, also under a cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netpart.graph.partition import partition_job
from netpart.layers.softmax_loss import SoftmaxLoss
from netpart.proto.reader import read_job_text
from netpart.spec import INT, Spec
from netpart.testing.play_part import make_layer_data, play_part
from netpart.worker.ensemble import Ensemble
from tests.laws.cases import layer_proto

pytestmark = pytest.mark.peers

WEIGHTS = [1.0, 0.25, 3.0, 0.5, 2.0]
TEXT = """
seed: 3 train_steps: 1 dtype: FLOAT64
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 12 shape: 4 } synthetic_conf { classes: 5 } }
  layer { name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 5 }
    param { init { type: kGaussian std: 1 } } param { init { type: kGaussian std: 1 } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" softmaxloss_conf { CONF } CUT }
}
"""


def conf_text(weighted: bool, ignored: int | None, smoothing: float, mean: bool) -> str:
    """The conf of a loss."""
    weights = " ".join(f"class_weight: {weight}" for weight in WEIGHTS) if weighted else ""
    skipped = "" if ignored is None else f"ignore_index: {ignored}"
    return f"{weights} {skipped} label_smoothing: {smoothing} normalisation: {'WEIGHTS' if mean else 'ROWS'}"


def torch_loss(x: Any, labels: Any, weighted: bool, ignored: int | None, smoothing: float, mean: bool) -> Any:
    """cross_entropy of the scores ``x`` (..., classes)."""
    import torch

    found = torch.nn.functional.cross_entropy(
        x.flatten(0, -2), torch.from_numpy(labels.astype(np.int64)).flatten(),
        weight=torch.tensor(WEIGHTS, dtype=x.dtype) if weighted else None,
        ignore_index=-100 if ignored is None else ignored, label_smoothing=smoothing,
        reduction="mean" if mean else "sum",
    )  # fmt: skip
    return found if mean else found / labels.size


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.25])
@pytest.mark.parametrize("ignored", [None, 1, -1, 255])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_loss_at_every_position_is_pytorchs(
    weighted: bool, ignored: int | None, smoothing: float, mean: bool
) -> None:
    import torch

    how = weighted, ignored, smoothing, mean
    sources = Spec((6, 4, 5)), Spec((6, 4), INT)
    layer = SoftmaxLoss(layer_proto("kSoftmaxLoss", f"softmaxloss_conf {{ {conf_text(*how)} }}"), sources)
    data = make_layer_data(layer, 4)
    played = play_part(layer, data)
    x = torch.from_numpy(data.x[0].copy()).requires_grad_()
    expected = torch_loss(x, data.x[1], *how)
    expected.backward()
    assert layer.figures(played.metrics, 6)["loss"] == pytest.approx(expected.item(), rel=1e-12)
    assert np.allclose(played.dx[0], x.grad.numpy(), rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize(("workers", "cut"), [(1, ""), (3, "partition_dim: 0"), (3, "partition_dim: 1")])
@pytest.mark.parametrize("how", [(True, 2, 0.1, True), (True, None, 0.1, False), (False, 0, 0.0, True)])
def test_a_net_that_is_cut_has_pytorchs_gradients(
    how: tuple[bool, int | None, float, bool], workers: int, cut: str
) -> None:
    import torch

    job = read_job_text(TEXT.replace("CONF", conf_text(*how)).replace("CUT", cut)).proto
    ensemble = Ensemble(partition_job(job, workers), keep=True)
    ensemble.initialise()
    weight, bias = (torch.from_numpy(ensemble.parameter(f"ip/{name}").copy()) for name in ("weight", "bias"))
    found = ensemble.step("train", 0)
    data, labels = (ensemble.activation("train", "data", k) for k in (0, 1))
    weight.requires_grad_()
    expected = torch_loss(torch.from_numpy(data) @ weight.T + bias, labels, *how)
    expected.backward()
    assert found["loss/loss"] == pytest.approx(expected.item(), rel=1e-12)
    assert np.allclose(ensemble.parameter("ip/weight", gradient=True), weight.grad.numpy(), rtol=1e-10, atol=1e-14)
