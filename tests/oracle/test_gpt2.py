"""A small GPT-2 follows PyTorch for 20 steps, uncut and in two cuts."""

from __future__ import annotations

from typing import Any

import pytest

from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job
from tests.house.tree import ROOT
from tests.oracle.harness import Weights, agree, by_torch, cut, prepared, uncut

pytestmark = pytest.mark.peers

HEADS = 8


def small(name: str = "gpt2-small") -> JobProto:
    return prepared(read_job(ROOT / "graphs" / "gpt" / f"{name}.conf").proto, rows=6, rate=0.1)


def gpt2(w: Weights, tokens: Any, label: Any) -> Any:
    """Radford et al., 2019, with one block and PyTorch's functions."""
    from torch.nn import functional as f

    def norm(name: str, x: Any) -> Any:
        return f.layer_norm(x, x.shape[-1:], w[f"{name}/weight"], w[f"{name}/bias"], eps=1e-5)

    def linear(name: str, x: Any) -> Any:
        return f.linear(x, w[f"{name}/weight"], w[f"{name}/bias"])

    def heads(name: str, x: Any) -> Any:
        return linear(name, x).unflatten(-1, (HEADS, -1)).transpose(1, 2)

    x = f.embedding(tokens.long(), w["tokens/tokens"]) + w["positions/weight"]
    y = norm("b1-norm1", x)
    query, key, value = (heads(f"b1-{part}", y) for part in ("query", "key", "value"))
    y = f.scaled_dot_product_attention(query, key, value, is_causal=True)
    x = x + linear("b1-out", y.transpose(1, 2).flatten(2))
    x = x + linear("b1-fc2", f.gelu(linear("b1-fc1", norm("b1-norm2", x)), approximate="tanh"))
    return f.cross_entropy(f.linear(norm("norm", x), w["tokens/tokens"]).flatten(0, 1), label.flatten())


@pytest.fixture(scope="module")
def expected() -> list[float]:
    return by_torch(small(), gpt2)


def test_uncut(expected: list[float]) -> None:
    agree(uncut(small()), expected)


@pytest.mark.parametrize(("name", "workers"), [("gpt2-small-layers", 2), ("gpt2-small-mixed", 3)])
def test_cut(name: str, workers: int, expected: list[float]) -> None:
    agree(cut(small(name), workers, "as-written"), expected)
