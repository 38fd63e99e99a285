"""The block of attention and feed-forward of GPT-2 and ViT, with normalisation before each; and how to cut it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from netpart.blocks.initialised_layers import NORMAL, Size, initialised_layer_norm, initialised_product
from netpart.builder.layer_list import LayerHandle
from netpart.builder.named_value import INSTANCE_NAME
from netpart.builder.nested_layers import NestedLayers
from netpart.builder.net_builder import NetBuilder

_FIRST, _SECOND, _INPUTS = {"partition_dim": 1}, {"partition_dim": 2}, {"cut": {"over": "INPUT"}}

SEQUENCE_CUTS: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("*-query", "*-key", "*-value", "*-heads"), _SECOND),
    **dict.fromkeys(("*-turned", "*-attention"), _FIRST),
    **dict.fromkeys(("*-back", "*-joined", "*-fc1", "*-gelu"), _SECOND),
    **dict.fromkeys(("*-out", "*-fc2"), _INPUTS),
}
"""Korthikanti et al., 2022: products cut on heads, neurons and inputs; the layers between them stay on the batch."""


@dataclass(frozen=True)
class TransformerExtents:
    """The extents of a transformer: numbers, or names of values in its net."""

    positions: Size
    width: Size
    hidden: Size
    heads: Size
    head: Size


def name_extents(net: NetBuilder, positions: int, width: int, heads: int) -> TransformerExtents:
    """Give the extents names in ``net``; the hidden width is four times the width."""
    sizes = TransformerExtents(positions, width, 4 * width, heads, width // heads)
    return TransformerExtents(**{name: net.let(name, size) for name, size in vars(sizes).items()})


def transformer_block(
    net: NestedLayers, x: LayerHandle, size: TransformerExtents, gelu: str = "GELU_TANH", epsilon: float = 1e-5,
    causal: bool = False
) -> LayerHandle:  # fmt: skip
    """Attention, then four times as many neurons and back, each after a normalisation and with a shortcut.

    Keeps the shape of ``x``, [N, positions, width]. ``gelu`` is the activation; ``causal`` hides later positions.
    """
    at = initialised_layer_norm(net, "norm1", x, epsilon)
    heads = partial(_attention_heads, size=size)
    three = [net.use(heads, at, name=name, of="heads") for name in ("query", "key", "value")]
    at = net.attention(*three, causal=causal or None, name="attention")
    at = net.reshape(net.transpose(at, [2, 1, 3], name="back"), [size.positions, size.width], name="joined")
    added = net.add(initialised_product(net, "out", at, size.width, axis=2), x, name="add1")
    at = initialised_product(net, "fc1", initialised_layer_norm(net, "norm2", added, epsilon), size.hidden, axis=2)
    at = net.add_layer("kActivation", at, gelu, name="gelu")
    return net.add(initialised_product(net, "fc2", at, size.width, axis=2), added, name="add2")


def learned_positions(net: NestedLayers, x: LayerHandle, name: str = "positions") -> LayerHandle:
    """Add a learned vector to each position; the shape of ``x``, [N, positions, width]."""
    return net.positions(x, name=name, params=[NORMAL])


def _attention_heads(net: NestedLayers, x: LayerHandle, size: TransformerExtents) -> LayerHandle:
    """A product whose features become heads: [N, positions, width] to [N, heads, positions, head]."""
    at = initialised_product(net, INSTANCE_NAME, x, size.width, axis=2)
    at = net.reshape(at, [size.positions, size.heads, size.head], name="heads")
    return net.transpose(at, [2, 1, 3], name="turned")
