"""Blocks of attention and feed-forward that ViT and GPT share, with normalisation before each and shortcuts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from netpart import LayerHandle, NestedLayers, Net
from tools.zoo.job import BATCH, CHANNELS, HERE, INPUT, NORMAL, ONE, REPLICA, SPACE, WHOLE, ZERO, Value, product

FEATURES = dict.fromkeys(("*-query", "*-key", "*-value", "*-heads"), SPACE)
HEADS = {**FEATURES, **dict.fromkeys(("*-turned", "*-attention"), CHANNELS)}
MIXED = {
    **HEADS, **dict.fromkeys(("*-back", "*-joined", "*-fc1", "*-gelu"), SPACE),
    **dict.fromkeys(("*-out", "*-fc2"), INPUT),
}  # fmt: skip
"""Korthikanti et al., 2022: products cut on heads, neurons and inputs, the layers between them on the batch."""
LAYERS = {**MIXED, "data": WHOLE, "next": SPACE, "loss": BATCH, "*": {**REPLICA, "sum_gradient": True}}
"""Shoeybi et al., Megatron-LM, 2019: layers between the products are whole on every worker."""


@dataclass(frozen=True)
class Extents:
    """The extents of a transformer."""

    positions: Value
    width: Value
    hidden: Value
    heads: Value
    head: Value


def name_extents(net: Net, positions: int, width: int, heads: int) -> Extents:
    """Give the extents names in ``net``."""
    sizes = Extents(positions, width, 4 * width, heads, width // heads)
    return Extents(**{name: net.let(name, size) for name, size in vars(sizes).items()})


def transformer(
    net: NestedLayers, x: LayerHandle, size: Extents, gelu: str, epsilon: float, causal: bool
) -> LayerHandle:
    """Attention, then four times as many neurons and back, each after a normalisation and with a shortcut."""
    at = layer_norm(net, "norm1", x, epsilon)
    three = [net.use(partial(heads, size=size), at, name=name) for name in ("query", "key", "value")]
    at = net.attention(*three, causal=causal or None, name="attention")
    at = net.reshape(net.transpose(at, [2, 1, 3], name="back"), [size.positions, size.width], name="joined")
    added = net.add(product(net, "out", at, size.width, axis=2), x, name="add1")
    at = product(net, "fc1", layer_norm(net, "norm2", added, epsilon), size.hidden, axis=2)
    at = net.add_layer("kActivation", at, gelu, name="gelu")
    return net.add(product(net, "fc2", at, size.width, axis=2), added, name="add2")


def heads(net: NestedLayers, x: LayerHandle, size: Extents) -> LayerHandle:
    """A product whose features become heads, an axis before the positions."""
    at = product(net, HERE, x, size.width, axis=2)
    at = net.reshape(at, [size.positions, size.heads, size.head], name="heads")
    return net.transpose(at, [2, 1, 3], name="turned")


def layer_norm(net: NestedLayers, name: str, x: LayerHandle, epsilon: float) -> LayerHandle:
    """Layer normalisation of each position."""
    return net.layer_norm(x, epsilon=epsilon, name=name, params=[ONE, ZERO])


def positions(net: NestedLayers, x: LayerHandle) -> LayerHandle:
    """A learned vector for each position."""
    return net.positions(x, name="positions", params=[NORMAL])
