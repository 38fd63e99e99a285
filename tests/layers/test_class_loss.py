"""Losses at every position, and losses that are cut on classes, against PyTorch's cross-entropy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from netpart.layers.softmax_loss import SoftmaxLoss
from netpart.spec import INT, Spec
from netpart.testing.play_part import LayerData, make_layer_data, play_part
from tests.laws.cases import layer_proto

ROWS = 3
POSITIONS = 4
CLASSES = 23
TOPK = 3


def loss_layer() -> SoftmaxLoss:
    conf = f"softmaxloss_conf {{ topk: {TOPK} scale: 0.5 label_smoothing: 0.25 }}"
    sources = Spec((ROWS, POSITIONS, CLASSES)), Spec((ROWS, POSITIONS), INT)
    return SoftmaxLoss(layer_proto("kSoftmaxLoss", conf), sources)


@pytest.mark.peers
def test_a_loss_at_every_position_is_pytorchs() -> None:
    import torch

    layer = loss_layer()
    data = make_layer_data(layer, 1)
    played = play_part(layer, data)
    x = torch.from_numpy(data.x[0].copy()).requires_grad_()
    labels = torch.from_numpy(data.x[1]).long()
    expected = 0.5 * torch.nn.functional.cross_entropy(x.flatten(0, 1), labels.flatten(), label_smoothing=0.25)
    expected.backward()
    assert np.isclose(played.metrics[0] / ROWS, expected.item(), rtol=1e-12)
    assert np.allclose(played.dx[0], x.grad.numpy(), rtol=1e-11, atol=1e-15)
    best = np.argsort(-data.x[0], axis=-1)[..., :TOPK]
    assert np.isclose(played.metrics[1] / ROWS, (best == data.x[1][..., None]).any(-1).mean())


@pytest.mark.parametrize("bounds", [(0, 23), (0, 9, 23), (0, 1, 2, 22, 23)])
def test_blocks_and_parts_of_the_classes_make_the_loss(bounds: tuple[int, ...]) -> None:
    layer = loss_layer()
    data = make_layer_data(layer, 2)
    whole, halves = play_part(layer, data), layer.expansion("blocks")
    figures = np.full(halves.inner.output.shape, np.nan)
    for lo, hi in pairwise(bounds):
        region, _ = halves.share((*layer.output.whole[:2], (lo, hi)))
        if region[2][0] < region[2][1]:
            figures[:, :, slice(*region[2])] = play_part(halves.inner, data, region, backward=False).y
    known = LayerData([*data.x, figures], [], np.zeros(layer.output.shape))
    parts = [play_part(halves.outer, known, (*layer.output.whole[:2], span)) for span in pairwise(bounds)]
    assert np.allclose(np.concatenate([p.y for p in parts], axis=2), whole.y, rtol=1e-12)
    assert np.allclose(np.concatenate([p.dx[0] for p in parts], axis=2), whole.dx[0], rtol=1e-11, atol=1e-15)
    assert np.allclose(sum(p.metrics for p in parts), whole.metrics, rtol=1e-12)
