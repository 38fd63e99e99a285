"""GPT-2 small, Radford et al., Language Models are Unsupervised Multitask Learners, 2019."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from netpart import Net
from netpart.blocks.initialised_layers import NORMAL, initialised_layer_norm
from netpart.blocks.transformer_blocks import SEQUENCE_CUTS, learned_positions, name_extents, transformer_block
from tools.zoo.job import MEGATRON, SPACE, Cuts, zoo_net


def jobs() -> Iterator[Net]:
    """GPT-2 small and GPT-3 as published, and a small one under three cuts."""
    about = (
        "GPT-2 small, twelve transformer blocks over 1024 tokens of a vocabulary of 50257. 124,439,808 "
        "parameters; the embedding is the classifier, too. The tokens are made up."
    )
    base = gpt(zoo_net("gpt", "gpt2", about, 1000, 0.0003, momentum=0), 12, (1024, 768, 12), 50257, 8)
    yield base
    about = (
        "GPT-3, 96 transformer blocks over 2048 tokens of a vocabulary of 50257. 174,604,259,328 parameters; the "
        "embedding is the classifier, too. The tokens are made up. A net to plan for: no single host has room for it."
    )
    net = zoo_net("gpt", "gpt3", about, 1000, 0.00006, momentum=0, workers=8, base=base)
    yield gpt(net, 96, (2048, 12288, 96), 50257, 32)
    cuts: dict[str, tuple[str, Cuts]] = {
        "": ("every layer cut on the batch", {}),
        # Each worker computes the loss of its share of the vocabulary.
        "-layers": ("attention cut on its heads, the rest on neurons, inputs and words", {**MEGATRON, "loss": SPACE}),
        "-mixed": ("products cut on heads, neurons and inputs, what lies between them on the batch", SEQUENCE_CUTS),
    }
    for suffix, (wording, cut) in cuts.items():
        about = f"GPT-2 made small, {wording}. One block over 16 tokens. Learns within a minute."
        net = zoo_net("gpt", f"gpt2-small{suffix}", about, 100, 0.005, momentum=0, base=base)
        gpt(net, 1, (16, 32, 8), 32, 16, noise=0.1).cut(cut)
        yield net


def gpt(net: Net, blocks: int, extents: tuple[int, int, int], vocabulary: int, batch: int, noise: float = 1) -> Net:
    """Tokens become vectors, blocks of causal attention, and the next token at every position."""
    size = name_extents(net, *extents)
    data = net.synthetic_tokens(name="data", batchsize=batch, shape=size.positions, classes=vocabulary, noise=noise)
    x = net.embedding(data, vocabulary, size.width, name="tokens", params=[{"name": "tokens", **NORMAL}])
    block = partial(transformer_block, size=size, gelu="GELU_TANH", epsilon=1e-5, causal=True)
    x = net.repeat(blocks, block, learned_positions(net, x), name="b", of="transformer")
    net.comment("the next token: products with the vectors of all tokens")
    x, shared = initialised_layer_norm(net, "norm", x, 1e-5), {"share_from": "tokens"}
    x = net.inner_product(x, vocabulary, axis=2, bias_term=False, name="next", params=[shared])
    net.softmax_loss(x, data, name="loss")
    return net
