"""The tiny GPT, which reads bytes and turns queries and keys, follows PyTorch for 20 steps, uncut and in two cuts."""

from __future__ import annotations

from typing import Any

import pytest

from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job
from tests.house.tree import ROOT
from tests.oracle.harness import Weights, agree, by_torch, cut, prepared, uncut

pytestmark = pytest.mark.peers

BLOCKS, HEADS = 4, 4


def small(name: str = "tiny") -> JobProto:
    job = prepared(read_job(ROOT / "graphs" / "gpt" / f"{name}.conf").proto, rows=2, rate=0.1)
    job.neuralnet.layer[0].text_conf.files[:] = [str(ROOT / "LICENSE")]
    return job


def turned(x: Any) -> Any:
    """Su et al., 2021, equation 13: neighbours as complex numbers, times e^(i·t·θ)."""
    import torch

    theta = 10000 ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    turns = torch.outer(torch.arange(x.shape[-2], dtype=torch.float64), theta)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(turns), turns)).flatten(-2)


def tiny(w: Weights, tokens: Any, label: Any) -> Any:
    """A GPT with pre-norm blocks and no biases, with PyTorch's functions."""
    from torch.nn import functional as f

    def norm(name: str, x: Any) -> Any:
        return f.layer_norm(x, x.shape[-1:], w[f"{name}/weight"], w[f"{name}/bias"], eps=1e-5)

    def linear(name: str, x: Any) -> Any:
        return f.linear(x, w[f"{name}/weight"])

    def heads(name: str, x: Any) -> Any:
        return linear(name, x).unflatten(-1, (HEADS, -1)).transpose(1, 2)

    x = f.embedding(tokens.long(), w["embed/weight"])
    for i in range(1, BLOCKS + 1):
        y = norm(f"norm-a{i}", x)
        query, key, value = (heads(f"{part}{i}", y) for part in ("query", "key", "value"))
        query, key = (turned(x).type_as(value) for x in (query, key))
        y = f.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + linear(f"out{i}", y.transpose(1, 2).flatten(2))
        x = x + linear(f"down{i}", f.gelu(linear(f"up{i}", norm(f"norm-m{i}", x)), approximate="tanh"))
    return f.cross_entropy(linear("logits", norm("norm", x)).flatten(0, 1), label.flatten())


@pytest.fixture(scope="module")
def expected() -> list[float]:
    return by_torch(small(), tiny)


def test_uncut(expected: list[float]) -> None:
    agree(uncut(small()), expected)


@pytest.mark.parametrize(("name", "workers"), [("tiny", 2), ("tiny-heads", 2)])
def test_cut(name: str, workers: int, expected: list[float]) -> None:
    agree(cut(small(name), workers, "as-written"), expected)
