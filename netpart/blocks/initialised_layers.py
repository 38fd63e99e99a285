"""Layers with the initial values that their papers give them.

Each function adds to a net or to a block of one: ``net``; ``name`` is that of the layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netpart.builder.layer_list import LayerHandle
from netpart.builder.named_value import NamedValue
from netpart.builder.nested_layers import NestedLayers

HE: dict[str, Any] = {"init": {"type": "kGaussianSqrtFanIn", "value": 1.4142135}}
"""Normal with variance 2 / fan-in: keeps the variance through ReLUs (He et al., 2015)."""
ONE, ZERO = ({"init": {"type": "kConstant", "value": value}} for value in (1, 0))
NORMAL: dict[str, Any] = {"init": {"type": "kGaussian", "std": 0.02}}
"""Normal with standard deviation 0.02, as in GPT-2 and ViT."""
Size = int | NamedValue
"""An extent: a number, or a value of the block that has a name."""


def he_convolution(
    net: NestedLayers, name: str, x: LayerHandle, filters: Size, kernel: int, stride: int = 1, bias: bool = False,
    **more: Any
) -> LayerHandle:  # fmt: skip
    """A convolution with the initial weights of He et al.: [N, C, H, W] to [N, filters, H / stride, W / stride].

    An odd ``kernel`` is padded so. ``more`` are other fields, such as ``groups``, or ``spatial_axes`` 3 for volumes.
    """
    fields = {"stride": stride if stride > 1 else None, "pad": kernel // 2 or None} | more
    return net.convolution(x, filters, kernel, name=name, params=[HE, *[ZERO] * bias], **fields)


def normalised_convolution(net: NestedLayers, name: str, *given: Any, **more: Any) -> LayerHandle:
    """A convolution NAME-conv without bias, and its batch normalisation NAME-norm over the whole mini-batch."""
    return initialised_batch_norm(net, f"{name}-norm", he_convolution(net, f"{name}-conv", *given, **more))


def initialised_batch_norm(net: NestedLayers, name: str, x: LayerHandle) -> LayerHandle:
    """Batch normalisation over the whole mini-batch, wherever its rows are; the shape of ``x``."""
    return net.bm(x, name=name, params=[ONE, ZERO])


def initialised_layer_norm(net: NestedLayers, name: str, x: LayerHandle, epsilon: float = 1e-5) -> LayerHandle:
    """Layer normalisation of each position; the shape of ``x``, [N, positions, width]."""
    return net.layer_norm(x, epsilon=epsilon, name=name, params=[ONE, ZERO])


def initialised_product(
    net: NestedLayers, name: str, x: LayerHandle, outputs: Size, init: Mapping[str, Any] = NORMAL, **more: Any
) -> LayerHandle:
    """An inner product with a bias: [N, …] to [N, outputs]; with ``axis`` 2, [N, positions, …] keeps its positions."""
    return net.inner_product(x, outputs, name=name, params=[init, ZERO], **more)
