"""GPT-2 small, Radford et al., Language Models are Unsupervised Multitask Learners, 2019."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tools.zoo.job import NORMAL, Job, Net
from tools.zoo.transformer import LAYERS, MIXED, Size, define_blocks, norm, positions

WORDS = {"loss": "partition_dim: 2"}
"""Each worker computes the loss of its share of the vocabulary."""


def jobs() -> Iterator[Job]:
    """GPT-2 small and GPT-3 as published, and a small one under three cuts."""
    about = (
        "GPT-2 small, twelve transformer blocks over 1024 tokens of a vocabulary of 50257. 124,439,808 "
        "parameters; the embedding is the classifier, too. The tokens are made up."
    )
    net = gpt(Size(12, 1024, 768, 12), 50257, 8)
    yield Job("gpt", "gpt2", about, net, 1000, 0.0003, momentum=0)
    about = (
        "GPT-3, 96 transformer blocks over 2048 tokens of a vocabulary of 50257. 174,604,259,328 parameters; the "
        "embedding is the classifier, too. The tokens are made up. A net to plan for: no single host has room for it."
    )
    large = gpt(Size(96, 2048, 12288, 96), 50257, 32, noise=1, base=net)
    yield Job("gpt", "gpt3", about, large, 1000, 0.00006, momentum=0, workers=8)
    cuts: dict[str, tuple[str, Mapping[str, str]]] = {
        "": ("every layer cut on the batch", {}),
        "-layers": ("attention cut on its heads, the rest on neurons, inputs and words", {**LAYERS, **WORDS}),
        "-mixed": ("products cut on heads, neurons and inputs, what lies between them on the batch", MIXED),
    }
    for suffix, (wording, cut) in cuts.items():
        about = f"GPT-2 made small, {wording}. One block over 16 tokens. Learns within a minute."
        small = gpt(Size(1, 16, 32, 8), 32, 16, cut, noise=0.1, base=net)
        yield Job("gpt", f"gpt2-small{suffix}", about, small, 100, 0.005, momentum=0)


def gpt(
    size: Size, vocabulary: int, batch: int, cuts: Mapping[str, str] | None = None, noise: float = 1,
    base: Net | None = None,
) -> Net:  # fmt: skip
    """Tokens become vectors, blocks of causal attention, and the next token at every position.

    ``base`` is the net of gpt2.conf, whose blocks this one uses; without it this is that net.
    """
    net = Net(cuts or {})
    if base:
        net.include("gpt2.conf", base)
    size.name_values(net)
    if not base:
        define_blocks(net, "GELU_TANH", "1e-5", causal=True)
    conf = f"store_conf {{ batchsize: {batch} shape: ${{positions}} }}\n"
    conf += f"synthetic_conf {{ classes: {vocabulary} noise: {noise:g} }}"
    at = net.layer("data", "kSyntheticTokens", conf=conf)
    conf = f"embedding_conf {{ vocab_size: {vocabulary} feature_dim: ${{width}} }}"
    at = net.layer("tokens", "kEmbedding", at, conf=conf, params=[f'name: "tokens" {NORMAL}'])
    at = net.use("b", "transformer", positions(net, at), times=size.blocks)
    net.note("the next token: products with the vectors of all tokens")
    at = norm(net, "norm", at, "1e-5")
    conf = f"innerproduct_conf {{ num_output: {vocabulary} axis: 2 bias_term: false }}"
    net.loss(net.layer("next", "kInnerProduct", at, conf=conf, params=['share_from: "tokens"']))
    return net
