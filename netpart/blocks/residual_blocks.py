"""Blocks with a shortcut: those of ResNet (He et al., 2015) and of MobileNetV2 (Sandler et al., 2018)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from netpart.blocks.initialised_layers import Size, normalised_convolution
from netpart.builder.layer_list import LayerHandle
from netpart.builder.nested_layers import NestedLayers


def residual_stage(
    net: NestedLayers, name: str, count: int, x: LayerHandle, block: Callable[..., LayerHandle], of: str,
    changing: str = "", stride: int = 1, **values: Any
) -> LayerHandle:  # fmt: skip
    """``count`` instances NAME1, NAME2, … of a residual block, which the text calls ``of``; ``values`` are its values.

    The first, if it changes the shape, is a block of its own, called ``changing``: its shortcut has a projection, and
    it divides the extents by ``stride``.
    """
    first = 1
    if changing:
        changed = partial(block, stride=stride, project=True)
        x, first = net.use(changed, x, name=f"{name}1", of=changing, **values), 2
    return net.repeat(count + 1 - first, block, x, name=name, first=first, of=of, **values)


def basic_residual(
    net: NestedLayers, x: LayerHandle, filters: Size, stride: int = 1, project: bool = False, **more: int
) -> LayerHandle:
    """Two convolutions of 3 x 3 with a shortcut: [N, C, H, W] to [N, filters, H / stride, W / stride].

    Without ``project`` the shape of ``x`` stays as it is. ``more`` are fields of the convolutions: ``spatial_axes`` 3.
    """
    at = net.relu(normalised_convolution(net, "1", x, filters, 3, stride, **more), name="1-relu")
    return _shortcut(net, normalised_convolution(net, "2", at, filters, 3, **more), x, filters, stride, project, **more)


def bottleneck_residual(
    net: NestedLayers, x: LayerHandle, filters: Size, wide: Size, stride: int = 1, project: bool = False
) -> LayerHandle:
    """Convolutions of 1 x 1, 3 x 3 and 1 x 1 with a shortcut: [N, C, H, W] to [N, wide, H / stride, W / stride].

    ``filters`` are those between them; the stride is that of the 3 x 3.
    """
    at = net.relu(normalised_convolution(net, "1", x, filters, 1), name="1-relu")
    at = net.relu(normalised_convolution(net, "2", at, filters, 3, stride), name="2-relu")
    return _shortcut(net, normalised_convolution(net, "3", at, wide, 1), x, wide, stride, project)


def inverted_residual(
    net: NestedLayers, x: LayerHandle, wide: Size, filters: Size, stride: int = 1, expands: bool = True,
    shortcut: bool = False
) -> LayerHandle:  # fmt: skip
    """A depthwise convolution of ``wide`` channels between two of 1 x 1: [N, C, H, W] to [N, filters, H / stride, …].

    Without ``expands`` the first is omitted, and ``x`` has ``wide`` channels. The last has no ReLU. ``shortcut`` adds
    ``x``, which then has the shape of the result.
    """
    at = convolution_relu6(net, "expand", x, wide, 1) if expands else x
    at = convolution_relu6(net, "depth", at, wide, 3, stride, groups=wide)
    at = normalised_convolution(net, "project", at, filters, 1)
    return net.add(at, x, name="add") if shortcut else at


def convolution_relu6(net: NestedLayers, name: str, *given: Any, **more: Any) -> LayerHandle:
    """A convolution NAME-conv, its batch normalisation, and ReLU up to 6."""
    return net.activation(normalised_convolution(net, name, *given, **more), "RELU6", name=f"{name}-relu")


def _shortcut(
    net: NestedLayers, at: LayerHandle, x: LayerHandle, filters: Size, stride: int, project: bool, **more: int
) -> LayerHandle:
    """Add the source ``x``, projected where its shape changes; ReLU."""
    source = normalised_convolution(net, "shortcut", x, filters, 1, stride, **more) if project else x
    return net.relu(net.add(at, source, name="add"), name="out")
