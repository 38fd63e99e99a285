"""Blocks of DenseNet: Huang et al., Densely Connected Convolutional Networks, 2017."""

from __future__ import annotations

from netpart.blocks.initialised_layers import Size, he_convolution, initialised_batch_norm
from netpart.builder.layer_list import LayerHandle
from netpart.builder.named_value import INSTANCE_NAME
from netpart.builder.nested_layers import NestedLayers


def dense_layer(net: NestedLayers, x: LayerHandle, growth: Size, wide: Size) -> LayerHandle:
    """Convolutions of 1 x 1 (to ``wide`` channels) and 3 x 3: [N, C, H, W] to [N, C + growth, H, W], after ``x``."""
    at = _convolution_after_relu(net, "2-", _convolution_after_relu(net, "1-", x, wide, 1), growth, 3)
    return net.concate(x, at, concate_dim=1, name=INSTANCE_NAME)


def dense_transition(net: NestedLayers, x: LayerHandle, filters: Size) -> LayerHandle:
    """Half of the extents: [N, C, H, W] to [N, filters, H / 2, W / 2]."""
    return net.pooling(_convolution_after_relu(net, "", x, filters, 1), pool="AVG", kernel=2, stride=2, name="pool")


def _convolution_after_relu(net: NestedLayers, prefix: str, x: LayerHandle, filters: Size, kernel: int) -> LayerHandle:
    """Batch normalisation and ReLU, then the convolution."""
    at = net.relu(initialised_batch_norm(net, f"{prefix}norm", x), name=f"{prefix}relu")
    return he_convolution(net, f"{prefix}conv", at, filters, kernel)
