from __future__ import annotations

import numpy as np
import pytest

from netpart.kernels.arguments import AttentionArguments, AttentionDropout
from netpart.kernels.op import Array, Clock
from netpart.kernels.philox import UniformDraws
from netpart.kernels.rotary import REPEATED
from tests.kernels.harness import K, close, derivative, normal, peak_bytes, play, rubbish


def naive(q: Array, k: Array, v: Array, scale: float, first: int | None) -> Array:
    y = np.zeros((*q.shape[:-1], v.shape[-1]))
    for at in np.ndindex(*q.shape[:-1]):
        seen = k.shape[-2] if first is None else min(k.shape[-2], first + at[-1] + 1)
        scores = np.exp(scale * k[at[:-1]][:seen] @ q[at])
        y[at] = scores @ v[at[:-1]][:seen] / scores.sum()
    return y


@pytest.mark.parametrize("first", [None, 0, 2])
def test_attention_and_its_gradients(first: int | None) -> None:
    q = normal(1, 2, 3, 4, 2)
    k = normal(2, 2, 3, 5, 2)
    v = normal(3, 2, 3, 5, 3)
    dy = normal(4, 2, 3, 4, 3)
    y = rubbish(2, 3, 4, 3)
    p = rubbish(2, 3, 4, 5)
    gradients = [rubbish(*x.shape) for x in (q, k, v)]
    op = K.attention(AttentionArguments(q, k, v, y, p, 0.7, first))
    play(op)
    close(y, naive(q, k, v, 0.7, first))
    play(K.attention_gradient(AttentionArguments(q, k, v, y, p, 0.7), dy, gradients[0], gradients[1], gradients[2]))

    def total() -> float:
        play(op)
        return float((y * dy).sum())

    for x, dx in zip((q, k, v), gradients, strict=True):
        close(dx, derivative(total, x), 1e-8)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2)])
def test_a_gradient_that_is_not_wanted_is_left_out(wanted: tuple[int, ...]) -> None:
    q, k, v, y, dy, p = (normal(i, 2, 4, 4) for i in range(6))
    every, some = [rubbish(2, 4, 4) for _ in range(3)], [rubbish(2, 4, 4) if i in wanted else None for i in range(3)]
    play(K.attention_gradient(AttentionArguments(q, k, v, y, p, 0.5), dy, every[0], every[1], every[2]))
    play(K.attention_gradient(AttentionArguments(q, k, v, y, p, 0.5), dy, some[0], some[1], some[2]))
    assert all(b is None or np.array_equal(a, b) for a, b in zip(every, some, strict=True))


def test_large_scores_do_not_overflow() -> None:
    q, y = np.full((1, 2, 1), 1e4), rubbish(1, 2, 1)
    play(K.attention(AttentionArguments(q, q, np.ones((1, 2, 1)), y, rubbish(1, 2, 2), 1.0, None)))
    assert y.tolist() == [[[1], [1]]]


def test_pairs_are_turned_and_turned_back() -> None:
    x = normal(1, 2, 3, 4)
    y = rubbish(2, 3, 4)
    back = rubbish(2, 3, 4)
    angles = normal(2, 3, 2)
    play(K.rotate(x, y, angles))
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    close(y[..., 0::2] + 1j * y[..., 1::2], turned)
    play(K.rotate(y, back, angles, -1))
    close(back, x)


@pytest.mark.parametrize("heads", [3, REPEATED])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3)])
def test_pairs_are_turned_in_place_and_in_any_order_of_memory(order: tuple[int, ...], heads: int) -> None:
    """A row of the batch has more or fewer bytes than REPEATED."""
    shape = 1, heads, 2, 4
    memory = np.empty([shape[axis] for axis in order], "float32")
    x = memory.transpose(order)  # both orders are their own inverses
    x[...] = normal(1, *shape)
    angles, before = normal(2, 2, 2), x.copy()
    play(type(K)(np, "float32").rotate(x, x, angles))
    turned = (before[..., 0::2] + 1j * before[..., 1::2]) * np.exp(1j * angles)
    np.testing.assert_allclose(x[..., 0::2] + 1j * x[..., 1::2], turned, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("flips", [(False, False), (False, True), (True, False), (True, True)])
def test_matmul(flips: tuple[bool, bool]) -> None:
    a = normal(1, 2, 3, 4)
    b = normal(2, 2, 4, 5)
    y = rubbish(2, 3, 5)
    stored = [np.ascontiguousarray(x.swapaxes(1, 2)) if flip else x for x, flip in zip((a, b), flips, strict=True)]
    play(K.matmul(stored[0], stored[1], y, *flips))
    close(y, a @ b)


def test_allocates_nothing() -> None:
    q = normal(1, 4, 40, 20)
    p = rubbish(4, 40, 40)
    y = rubbish(4, 40, 20)
    draw = UniformDraws(np, (1, 2), (0, 4), ((0, 40), (0, 40)), (40, 40), 1)
    full = AttentionArguments(
        q, q, q, y, p, 1.0, 0, mask=np.ones((4, 40), "int32"), dropout=AttentionDropout(p.copy(), draw, 0.3, Clock())
    )  # fmt: skip
    ops = [
        K.attention(full),
        K.attention_gradient(full, q, y, y.copy(), y.copy()),
        K.attention(AttentionArguments(q, q, q, y, p, 1.0, 0)),
        K.attention_gradient(AttentionArguments(q, q, q, y, p, 1.0), q, y, y.copy(), y.copy()),
        K.rotate(q, y, normal(2, 40, 10)),
        K.matmul(q, q, p, False, True),
    ]
    assert max(map(peak_bytes, ops)) < 4096
