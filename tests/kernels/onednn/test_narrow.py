"""oneDNN's verbs on tensors in bfloat16 agree with the reference on the same numbers in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from netpart.kernels.arguments import (
    AttentionArguments,
    BatchNormArguments,
    BatchNormGradientArguments,
    NormaliseArguments,
)
from netpart.kernels.bfloat16 import rounded, widened
from netpart.kernels.choose import has_bfloat16, probe_onednn
from netpart.kernels.onednn.kernels import Kernels as Fast
from netpart.kernels.op import Op, Window
from netpart.kernels.pooling import winner_dtype
from netpart.kernels.reference import Kernels
from netpart.spec import Shape
from tests.kernels import harness

pytestmark = pytest.mark.skipif(bool(probe_onednn()) or not has_bfloat16(), reason="no processor with bfloat16")

U = 2.0**-8
PLAIN = Kernels(np, "float32")
RNG = np.random.default_rng(2)
Same = Callable[[Any], Any]


def play(*ops: Op) -> None:
    for op in ops:
        harness.play(op)


def drawn(*shape: int) -> Any:
    """Numbers that bfloat16 holds exactly."""
    return widened(rounded(RNG.standard_normal(shape).astype(np.float32)))


def agree(compute: Callable[[Kernels, Same], list[Any]], roundings: float = 2) -> None:
    """Hold ``compute`` with oneDNN, on bfloat16, against the reference: some roundings of the norm apart."""
    right = compute(PLAIN, lambda a: a.copy())
    found = compute(Fast(np, "float32", "bfloat16"), rounded)
    for a, b in zip(found, right, strict=True):
        assert np.linalg.norm(widened(a) - b) <= roundings * U * np.linalg.norm(b)


@pytest.mark.parametrize("first", [None, 0])
def test_attention(first: int | None) -> None:
    q, k, v, dy = (drawn(2, 3, 130, 8) for _ in range(4))

    def compute(kernels: Kernels, store: Same) -> list[Any]:
        p = store(np.zeros((2, 3, 130, 130), np.float32))
        a = AttentionArguments(store(q), store(k), store(v), store(v), p, 0.3, first)
        gradients = [store(x) for x in (q, k, v)]
        play(kernels.attention(a), kernels.attention_gradient(a, store(dy), *gradients))
        return [a.y, *gradients]

    agree(compute)


@pytest.mark.parametrize("width", [24, 40])
def test_layer_norm(width: int) -> None:
    x, dy = drawn(6, 5, width), drawn(6, 5, width)
    w, b = drawn(1, 1, width), drawn(1, 1, width)
    own = tuple(map(slice, x.shape))

    def compute(kernels: Kernels, store: Same) -> list[Any]:
        y, unit, dx, rstd = store(x), store(x), store(x), np.empty((30, 1), np.float32)
        dw, db = np.empty_like(w), np.empty_like(b)
        play(
            kernels.normalise(NormaliseArguments(store(x), w, b, y, unit, rstd, 30, own, 1e-5, True)),
            kernels.normalise_gradient(unit, rstd, w, store(dy), dx, own, True),
            kernels.normalise_parameters(unit, store(dy), dw, db, own),
        )
        return [y, dx, dw, db, rstd]

    agree(compute)


@pytest.mark.parametrize(
    ("sizes", "window", "outs"),
    [
        ((5, 12, 7), Window((7, 7, 7), (2, 3, 3), ((1, 3), (4, 0), (3, 3))), (2, 4, 3)),
        ((4, 5, 6), Window((7, 5, 7), (4, 2, 3), ((3, 3), (2, 2), (0, 4))), (1, 3, 2)),
        ((17, 17), Window((17, 17), (1, 1), ((0, 0), (0, 0))), (1, 1)),
        ((20, 20), Window((16, 16), (3, 3), ((7, 8), (8, 7))), (7, 7)),
        ((9, 9), Window((3, 3), (2, 2), ((1, 1), (1, 1))), (5, 5)),
    ],
)
def test_maxima_of_large_windows(sizes: Shape, window: Window, outs: Shape) -> None:
    """oneDNN counts the elements of a window in bfloat16, which is exact up to 256."""
    x, dy = drawn(2, 8, *sizes), drawn(2, 8, *outs)

    def compute(kernels: Kernels, store: Same) -> list[Any]:
        y, dx = store(dy), store(x)
        arg = np.empty(dy.shape, winner_dtype(window.kernel))
        play(
            kernels.pooling(store(x), y, arg, window, "MAX", 1),
            kernels.pooling_gradient(store(dy), dx, arg, window, "MAX", 1),
        )
        return [y, dx]

    agree(compute)


@pytest.mark.parametrize("space", [(2, 2, 2), (5, 6, 5), (7, 9), (40,)])
def test_batch_norm(space: Shape) -> None:
    channels = 24
    x, dy = 2 + drawn(4, channels, *space), drawn(4, channels, *space)
    w, b, s = drawn(channels), drawn(channels), np.zeros(channels, np.float32)

    def compute(kernels: Kernels, store: Same) -> list[Any]:
        own = tuple(slice(None) for _ in x.shape)
        seen, y, dx, above = (last(store(each)) for each in (x, x, x, dy))
        m, dm = np.empty((2, 1, channels, 2), np.float32)
        mean, variance, rstd, dw, db = np.empty((5, channels), np.float32)
        forward = BatchNormArguments(seen, s, m, mean, variance, w, b, y, rstd, own, 1e-3)
        backward = BatchNormGradientArguments(seen, s, m, mean, variance, w, rstd, above, dm, dw, db, dx, own, 1e-3)
        play(kernels.batch_norm(forward), kernels.batch_norm_gradient(backward))
        return [y, m, dx, dw, db]

    agree(compute)


def last(array: Any) -> Any:
    """A copy whose channels are innermost."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)


def test_what_onednn_does_not_have_is_computed_in_float32() -> None:
    x, factor = drawn(4, 1, 6), drawn(4, 5, 6)

    def compute(kernels: Kernels, store: Same) -> list[Any]:
        folded, product, y = store(x), store(factor), store(x)
        play(
            kernels.fold(folded, store(factor)),
            kernels.multiply(product, [store(x), store(factor)]),
            kernels.multiply_gradient([store(x), store(factor)], 0, store(factor), y),
        )
        return [folded, product, y]

    agree(compute, 1)


def test_a_refused_verb_may_work_in_place() -> None:
    x = drawn(3, 4)
    fast = Fast(np, "float32", "bfloat16")
    narrow = rounded(x)[:, ::2]
    play(fast.activation("relu", narrow, narrow))
    assert np.array_equal(widened(narrow), np.maximum(x, 0)[:, ::2])
