"""Transposed convolution against PyTorch's, with groups and without."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.layers.transposed_convolution import TransposedConvolution
from netpart.spec import Spec
from netpart.testing.play_part import make_layer_data, play_part
from tests.laws.cases import layer_proto, params


@pytest.mark.parametrize("end", [1, 0, 3])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.peers
def test_it_is_pytorchs_forward_and_backward(groups: int, end: int) -> None:
    """PyTorch's result without padding is cropped by ``pad``, and extended by ``output_pad``."""
    import torch

    conf = f"num_filters: 8 groups: {groups} kernel: 3 stride: 2 pad: 1 pad_end: {end} output_pad: 1"
    text = f"convolution_conf {{ {conf} }} {params(2)}"
    layer = TransposedConvolution(layer_proto("kTransposedConvolution", text), (Spec((2, 4, 5, 3)),))
    data = make_layer_data(layer, 3)
    x, w, b = (torch.from_numpy(a.copy()).requires_grad_() for a in (data.x[0], *data.w))
    y = torch.nn.functional.conv_transpose2d(x, w, stride=2, groups=groups)
    y = torch.nn.functional.pad(y, (-1, 1 - end, -1, 1 - end)) + b[:, None, None]
    y.backward(torch.from_numpy(data.dy))
    played = play_part(layer, data)
    assert np.allclose(played.y, y.detach().numpy(), rtol=1e-12, atol=1e-13)
    for found, expected in zip((*played.dx, *played.dw), (x.grad, w.grad, b.grad), strict=True):
        assert np.allclose(found, expected.numpy(), rtol=1e-11, atol=1e-13)
