"""GPT-2 small, Radford et al., Language Models are Unsupervised Multitask Learners, 2019."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tools.zoo.job import NORMAL, Job, Net
from tools.zoo.transformer import LAYERS, MIXED, Size, block, norm, positions

WORDS = {"loss": "partition_dim: 2"}
"""Each worker computes the loss of its share of the vocabulary."""


def jobs() -> Iterator[Job]:
    """GPT-2 small as published, and a small one under three cuts."""
    about = (
        "GPT-2 small, twelve transformer blocks over 1024 tokens of a vocabulary of 50257. 124,439,808 "
        "parameters; the embedding is the classifier, too. The tokens are made up."
    )
    yield Job("gpt", "gpt2", about, gpt(Size(12, 1024, 768, 12), 50257, 8), 1000, 0.0003, momentum=0)
    cuts: dict[str, tuple[str, Mapping[str, str]]] = {
        "": ("every layer cut on the batch", {}),
        "-layers": ("attention cut on its heads, the rest on neurons, inputs and words", {**LAYERS, **WORDS}),
        "-mixed": ("products cut on heads, neurons and inputs, what lies between them on the batch", MIXED),
    }
    for suffix, (wording, cut) in cuts.items():
        about = f"GPT-2 made small, {wording}. One block over 16 tokens. Learns within a minute."
        net = gpt(Size(1, 16, 32, 8), 32, 16, cut, noise=0.1)
        yield Job("gpt", f"gpt2-small{suffix}", about, net, 100, 0.005, momentum=0)


def gpt(size: Size, vocabulary: int, batch: int, cuts: Mapping[str, str] | None = None, noise: float = 1) -> Net:
    """Tokens become vectors, blocks of causal attention, and the next token at every position."""
    net = Net(cuts or {})
    conf = f"store_conf {{ batchsize: {batch} shape: {size.positions} }}\n"
    conf += f"synthetic_conf {{ classes: {vocabulary} noise: {noise:g} }}"
    at = net.layer("data", "kSyntheticTokens", conf=conf)
    conf = f"embedding_conf {{ vocab_size: {vocabulary} feature_dim: {size.width} }}"
    at = net.layer("tokens", "kEmbedding", at, conf=conf, params=[f'name: "tokens" {NORMAL}'])
    at = positions(net, at)
    for i in range(1, size.blocks + 1):
        net.note(f"block {i}")
        at = block(net, f"b{i}", at, size, "GELU_TANH", "1e-5", causal=True)
    net.note("the next token: products with the vectors of all tokens")
    at = norm(net, "norm", at, "1e-5")
    conf = f"innerproduct_conf {{ num_output: {vocabulary} axis: 2 bias_term: false }}"
    net.loss(net.layer("next", "kInnerProduct", at, conf=conf, params=['share_from: "tokens"']))
    return net
