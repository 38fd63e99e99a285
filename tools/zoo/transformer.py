"""Blocks of attention and feed-forward that ViT and GPT share, with normalisation before each and shortcuts."""

from __future__ import annotations

from dataclasses import dataclass

from tools.zoo.job import HERE, NORMAL, ONE, ZERO, Net

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

    def name_values(self, net: Net) -> None:
        """Give the extents names."""
        head = self.width // self.heads
        net.let(positions=self.positions, width=self.width, hidden=4 * self.width, heads=self.heads, head=head)


def define_blocks(net: Net, gelu: str, epsilon: str, causal: bool) -> None:
    """Define the block "transformer": attention, then four times as many neurons and back, each after a normalisation
    and with a shortcut."""
    _define_heads(net)
    block = net.block("transformer", "x")
    at = norm(block, "norm1", "x", epsilon)
    at = block.layer("add1", "kAdd", _attention(block, at, causal), "x")
    at = block.product("fc1", norm(block, "norm2", at, epsilon), "${hidden}", axis=2)
    at = block.layer("gelu", "kActivation", at, conf=f"activation_conf {{ type: {gelu} }}")
    block.outputs = [block.layer("add2", "kAdd", block.product("fc2", at, "${width}", axis=2), "add1")]


def _attention(block: Net, source: str, causal: bool) -> str:
    """Queries, keys and values of every head, attention, and a product over the results of all heads."""
    three = [block.use(part, "heads", source) for part in ("query", "key", "value")]
    conf = "attention_conf { causal: true }" if causal else ""
    at = block.layer("attention", "kAttention", *three, conf=conf)
    at = block.layer("back", "kTranspose", at, conf="transpose_conf { axis: [2, 1, 3] }")
    at = block.layer("joined", "kReshape", at, conf="reshape_conf { shape: [${positions}, ${width}] }")
    return block.product("out", at, "${width}", axis=2)


def _define_heads(net: Net) -> None:
    """Define the block "heads": a product whose features become heads, an axis before the positions."""
    block = net.block("heads", "x")
    at = block.product(HERE, "x", "${width}", axis=2)
    at = block.layer("heads", "kReshape", at, conf="reshape_conf { shape: [${positions}, ${heads}, ${head}] }")
    block.outputs = [block.layer("turned", "kTranspose", at, conf="transpose_conf { axis: [2, 1, 3] }")]


def norm(net: Net, name: str, source: str, epsilon: str) -> str:
    """Layer normalisation of each position."""
    conf = f"norm_conf {{ epsilon: {epsilon} }}"
    return net.layer(name, "kLayerNorm", source, conf=conf, params=[ONE, ZERO])


def positions(net: Net, source: str) -> str:
    """A learned vector for each position."""
    return net.layer("positions", "kPositions", source, params=[NORMAL])
