from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.op import Array, Op
from tests.kernels.harness import K, close, derivative, normal, peak_bytes, play, rubbish


@st.composite
def sources(draw: st.DrawFn) -> list[Array]:
    """Arrays of one rank, some with extents of 1 where others have more."""
    shape = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    masks = draw(st.lists(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)), min_size=1, max_size=3))
    shapes = [[1 if one else n for one, n in zip(mask, shape, strict=True)] for mask in masks]
    return [normal(i, *s) for i, s in enumerate(shapes)]


def check(op: Op, y: Array, gradients: list[Op], xs: list[Array], dxs: list[Array], dy: Array) -> None:
    """Each gradient is the derivative of <dy, y>."""
    play(op)
    for gradient in gradients:
        play(gradient)

    def total() -> float:
        play(op)
        return float((y * dy).sum())

    for x, dx in zip(xs, dxs, strict=True):
        close(dx, derivative(total, x), 1e-7)


@settings(max_examples=50, deadline=None)
@given(sources())
def test_product(xs: list[Array]) -> None:
    expected = np.prod(np.broadcast_arrays(*xs), axis=0)
    y = rubbish(*expected.shape)
    dy = normal(7, *expected.shape)
    dxs = [rubbish(*x.shape) for x in xs]
    op = K.multiply(y, xs)
    check(op, y, [K.multiply_gradient(xs, k, dy, dx) for k, dx in enumerate(dxs)], xs, dxs, dy)
    play(op)
    close(y, expected)


@settings(max_examples=50, deadline=None)
@given(sources())
def test_maximum(xs: list[Array]) -> None:
    expected = np.max(np.broadcast_arrays(*xs), axis=0)
    y = rubbish(*expected.shape)
    dy = normal(7, *expected.shape)
    dxs = [rubbish(*x.shape) for x in xs]
    arg = rubbish(*expected.shape, dtype="uint8")
    play(K.maximum(y, xs, arg))
    gradients = [K.maximum_gradient(arg.copy(), k, dy, dx) for k, dx in enumerate(dxs)]
    check(K.maximum(y, xs, arg), y, gradients, xs, dxs, dy)
    play(K.maximum(y, xs, arg))
    close(y, expected)


def test_the_first_of_equal_maxima_gets_the_gradient() -> None:
    x = np.ones((1, 2))
    arg = rubbish(1, 2, dtype="uint8")
    dx = [rubbish(1, 2), rubbish(1, 2)]
    play(K.maximum(rubbish(1, 2), [x, x.copy()], arg))
    for k in range(2):
        play(K.maximum_gradient(arg, k, np.full((1, 2), 3.0), dx[k]))
    assert [d.tolist() for d in dx] == [[[3, 3]], [[0, 0]]]


def test_a_fold_is_the_gradient_of_stretching() -> None:
    src, dst = normal(1, 2, 3, 4), rubbish(2, 1, 1)
    play(K.fold(dst, src))
    close(dst, src.sum(axis=(1, 2), keepdims=True))
    same = rubbish(2, 3, 4)
    play(K.fold(same, src))
    assert np.array_equal(same, src)


def test_allocates_nothing() -> None:
    x = normal(1, 50, 70)
    small = normal(2, 50, 1)
    y = normal(3, 50, 70)
    arg = np.zeros((50, 70), "uint8")
    ops = [
        K.fold(small, x),
        K.multiply(y, [x, small]),
        K.multiply_gradient([x, small], 1, y, np.empty_like(small)),
        K.maximum(y, [x, small], arg),
        K.maximum_gradient(arg, 1, y, np.empty_like(small)),
    ]
    assert max(map(peak_bytes, ops)) < 4096
