"""Attention of all places of a volume to each other: Zhang et al., An Explainable 3D Residual Self-Attention Deep
Neural Network, 2020, after Zhang et al., Self-Attention Generative Adversarial Networks, 2018."""

from __future__ import annotations

from functools import partial

from netpart.blocks.initialised_layers import ZERO, Size, he_convolution
from netpart.builder.layer_list import LayerHandle
from netpart.builder.named_value import INSTANCE_NAME
from netpart.builder.nested_layers import NestedLayers


def volume_attention(
    net: NestedLayers, at: LayerHandle, filters: Size, narrow: Size, places: Size, x: Size, y: Size, z: Size
) -> LayerHandle:
    """Attention through a gate that is closed at first, with a shortcut; the shape of ``at``, [N, filters, x, y, z].

    Queries and keys have ``narrow`` channels; ``places`` is x · y · z.
    """
    widths = {"query": narrow, "key": narrow, "value": filters}
    rows = partial(_place_rows, places=places)
    three = [net.use(rows, at, name=name, of="rows", wide=wide) for name, wide in widths.items()]
    found = net.transpose(net.attention(*three, scale=1, name="attention"), [2, 1], name="found-flat")
    found = net.reshape(found, [filters, x, y, z], name="found")
    return net.add(net.gate(found, name="gate", params=[ZERO]), at, name="join")


def _place_rows(net: NestedLayers, at: LayerHandle, wide: Size, places: Size) -> LayerHandle:
    """A convolution of 1 x 1 x 1 as a row of features for every place: [N, C, x, y, z] to [N, places, wide]."""
    at = he_convolution(net, INSTANCE_NAME, at, wide, 1, bias=True, spatial_axes=3)
    return net.transpose(net.reshape(at, [wide, places], name="flat"), [2, 1], name="rows")
