"""Blocks of attention and feed-forward that ViT and GPT share, with normalisation before each and shortcuts."""

from __future__ import annotations

from dataclasses import dataclass

from tools.zoo.job import NORMAL, ONE, ZERO, Net

HEADS = {
    "*-query": "partition_dim: 2", "*-key": "partition_dim: 2", "*-value": "partition_dim: 2",
    "*-heads": "partition_dim: 2", "*-turned": "partition_dim: 1", "*-attention": "partition_dim: 1",
    "*-back": "partition_dim: 2", "*-joined": "partition_dim: 2",
}  # fmt: skip
"""Attention cut on its heads, from the features of the queries to those of the values."""
MLP = {"*-fc1": "partition_dim: 2", "*-gelu": "partition_dim: 2"}
ADDENDS = {"*-out": "cut { over: INPUT }", "*-fc2": "cut { over: INPUT }"}
COPIES = {"*": "cut { over: REPLICA } sum_gradient: true"}
LAYERS = {
    **HEADS,
    **MLP,
    **ADDENDS,
    "data": "partition_dim: -1",
    "next": "partition_dim: 2",
    "loss": "partition_dim: 0",
    **COPIES,
}
"""Shoeybi et al., Megatron-LM, 2019: layers between the products are whole on every worker."""
MIXED = {**HEADS, **MLP, **ADDENDS}
"""Korthikanti et al., 2022: the products as above, the layers between them cut as well, here on the batch."""


@dataclass(frozen=True)
class Size:
    """Extents of a transformer."""

    blocks: int
    positions: int
    width: int
    heads: int


def block(net: Net, name: str, source: str, size: Size, gelu: str, epsilon: str, causal: bool) -> str:
    """Attention, then four times as many neurons and back, each after a normalisation and with a shortcut."""
    at = norm(net, f"{name}-norm1", source, epsilon)
    source = net.layer(f"{name}-add1", "kAdd", attention(net, name, at, size, causal), source)
    at = net.product(f"{name}-fc1", norm(net, f"{name}-norm2", source, epsilon), 4 * size.width, axis=2)
    at = net.layer(f"{name}-gelu", "kActivation", at, conf=f"activation_conf {{ type: {gelu} }}")
    at = net.product(f"{name}-fc2", at, size.width, axis=2)
    return net.layer(f"{name}-add2", "kAdd", at, source)


def attention(net: Net, name: str, source: str, size: Size, causal: bool) -> str:
    """Queries, keys and values of every head, attention, and a product over the results of all heads."""
    three = [heads(net, f"{name}-{part}", source, size) for part in ("query", "key", "value")]
    conf = "attention_conf { causal: true }" if causal else ""
    at = net.layer(f"{name}-attention", "kAttention", *three, conf=conf)
    at = net.layer(f"{name}-back", "kTranspose", at, conf="transpose_conf { axis: [2, 1, 3] }")
    shape = f"reshape_conf {{ shape: [{size.positions}, {size.width}] }}"
    return net.product(f"{name}-out", net.layer(f"{name}-joined", "kReshape", at, conf=shape), size.width, axis=2)


def heads(net: Net, name: str, source: str, size: Size) -> str:
    """A product whose features become heads, an axis before the positions."""
    at = net.product(name, source, size.width, axis=2)
    shape = f"reshape_conf {{ shape: [{size.positions}, {size.heads}, {size.width // size.heads}] }}"
    at = net.layer(f"{name}-heads", "kReshape", at, conf=shape)
    return net.layer(f"{name}-turned", "kTranspose", at, conf="transpose_conf { axis: [2, 1, 3] }")


def norm(net: Net, name: str, source: str, epsilon: str) -> str:
    """Layer normalisation of each position."""
    conf = f"norm_conf {{ epsilon: {epsilon} }}"
    return net.layer(name, "kLayerNorm", source, conf=conf, params=[ONE, ZERO])


def positions(net: Net, source: str) -> str:
    """A learned vector for each position."""
    return net.layer("positions", "kPositions", source, params=[NORMAL])
