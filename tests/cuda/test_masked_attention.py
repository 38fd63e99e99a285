"""Attention with a mask of the keys, and with dropout of its weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netpart.kernels.arguments import AttentionArguments, AttentionDropout
from netpart.kernels.op import Array, Clock, Op, chain_ops
from netpart.kernels.philox import UniformDraws
from tests.cuda.agreement import agree
from tests.cuda.module import cupy
from tests.kernels.harness import normal, rubbish

KEY, STEP, PHASE = (0x9E3779B9, 7), 5, 1
HEADS = 2


def masks(rows: int, keys: int, kind: str) -> Array:
    """About half of the keys have the number 3; the first row has it at the front, the last one everywhere."""
    found = np.random.default_rng(1).integers(2, 4, (rows, keys))
    found[0, : keys // 2 + 1], found[-1] = 3, 3
    return found.astype(kind)


def both_ways(
    queries: int, keys: int, width: int, values: int, first: int | None, kind: str | None, ratio: float, dtype: str
) -> None:
    """Asserts that attention and its gradients, of 3 rows and 2 heads, are those of the reference."""
    lead = (3, HEADS)
    shapes = [(*lead, n, m) for n, m in ((queries, width), (keys, width), (keys, values), (queries, values))]
    q, k, v, dy = (normal(i, *shape) for i, shape in enumerate(shapes))

    def bind(kernels: Any, mask: Array, q: Array, k: Array, v: Array, y: Array, dy: Array, *made: Array) -> Op:
        xp, pairs = kernels.xp, (*lead, queries, keys)
        kept = xp.zeros(kernels.attention_keeps(pairs, width, values, ratio > 0), dtype)
        draw = UniformDraws(xp, KEY, (4, 7), tuple((0, n) for n in pairs[1:]), pairs[1:], PHASE)
        drop = AttentionDropout(xp.asarray(rubbish(*pairs, dtype=dtype)), draw, ratio, Clock(STEP)) if ratio else None
        a = AttentionArguments(q, k, v, y, kept, 0.7, first, mask=mask if kind else None, pad=3, dropout=drop)
        both = chain_ops(kernels.attention(a), kernels.attention_gradient(a, dy, *made))
        if xp is cupy():
            kernels.device.write_step(STEP)
        return both

    arrays = q, k, v, rubbish(*dy.shape), dy, *(rubbish(*shape) for shape in shapes[:3])
    agree(bind, masks(3, keys, kind or "int32"), *arrays, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["int32", "float64"])
@pytest.mark.parametrize(
    ("queries", "keys", "width", "values", "first"),
    [
        (5, 4, 3, 2, None),
        (70, 70, 16, 16, 0),  # a tile and a bit
        (33, 130, 8, 20, 97),  # the last queries of a part
        (40, 50, 8, 130, 10),  # too wide for tiles
    ],
)
def test_a_mask_hides_keys(
    queries: int, keys: int, width: int, values: int, first: int | None, kind: str, dtype: str
) -> None:
    both_ways(queries, keys, width, values, first, kind, 0, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("values", "kind", "first"), [(4, None, None), (4, "int32", 0), (130, "int32", None)])
def test_weights_are_dropped_as_on_the_cpu(values: int, kind: str | None, first: int | None, dtype: str) -> None:
    both_ways(20, 20, 6, values, first, kind, 0.3, dtype)
