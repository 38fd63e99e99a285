"""Levels of U-Net: Ronneberger et al., 2015, for images; Çiçek et al., 2016, for volumes, with batch normalisation."""

from __future__ import annotations

from netpart.blocks.initialised_layers import HE, ZERO, Size, he_convolution
from netpart.builder.layer_list import LayerHandle
from netpart.builder.nested_layers import NestedLayers


def encoder_level(
    net: NestedLayers, x: LayerHandle, narrow: Size, wide: Size, axes: int = 2, pools: bool = True
) -> LayerHandle:
    """A level of the way down: [N, C, H, W] to [N, wide, H / 2, W / 2], through ``narrow`` channels.

    Without ``pools``, as in the first level, the extents stay. ``axes`` is 2 for images, 3 for volumes.
    """
    x = net.pooling(x, 2, stride=2, spatial_axes=window_axes(axes), name="pool") if pools else x
    return _convolution_and_relu(net, "2", _convolution_and_relu(net, "1", x, narrow, axes), wide, axes)


def decoder_level(
    net: NestedLayers, x: LayerHandle, skip: LayerHandle, wide: Size, filters: Size, axes: int = 2
) -> LayerHandle:
    """A level of the way up: [N, C, H, W] and ``skip`` of [N, S, 2 H, 2 W] to [N, filters, 2 H, 2 W].

    ``x`` gets ``wide`` channels before it is joined to ``skip``.
    """
    params = [HE] if axes == 3 else [HE, ZERO]  # batch normalisation brings the bias
    x = net.transposed_convolution(x, wide, 2, stride=2, spatial_axes=window_axes(axes), name="up", params=params)
    x = net.concate(skip, x, concate_dim=1, name="join")
    return _convolution_and_relu(net, "2", _convolution_and_relu(net, "1", x, filters, axes), filters, axes)


def window_axes(axes: int) -> int | None:
    """The field ``spatial_axes``: None, which leaves it unset, for the two axes that windows have by default."""
    return axes if axes != 2 else None


def _convolution_and_relu(net: NestedLayers, name: str, x: LayerHandle, filters: Size, axes: int) -> LayerHandle:
    """A convolution of 3 along each axis; its batch normalisation, if there is one, has no scale of its own; ReLU."""
    x = he_convolution(net, f"{name}-conv", x, filters, 3, bias=True, spatial_axes=window_axes(axes))
    return net.relu(net.bm(x, name=f"{name}-norm") if axes == 3 else x, name=f"{name}-relu")
