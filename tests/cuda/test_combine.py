from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels.op import Array, Op, chain_ops
from tests.cuda.agreement import DTYPES, ORDERS, agree, fast, play
from tests.cuda.module import cupy
from tests.kernels.harness import normal, rubbish


@st.composite
def sources(draw: st.DrawFn) -> list[Array]:
    """Arrays of one rank, some with extents of 1 where others have more."""
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    count = draw(st.integers(1, 3))
    masks = [draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape))) for _ in range(count)]
    shapes = [[1 if one and n else n for one, n in zip(mask, shape, strict=True)] for mask in masks]
    return [np.round(normal(i, *s), 1) for i, s in enumerate(shapes)]


@given(sources(), ORDERS, DTYPES)
def test_products_and_their_gradients(xs: list[Array], order: str, dtype: str) -> None:
    y, count = rubbish(*np.broadcast_shapes(*(x.shape for x in xs))), len(xs)

    def both(kernels: Any, y: Array, dy: Array, *arrays: Array) -> Op:
        xs, dxs = arrays[:count], arrays[count:]
        gradients = (kernels.multiply_gradient(xs, k, dy, dx) for k, dx in enumerate(dxs))
        return chain_ops(kernels.multiply(y, xs), *gradients)

    agree(both, y, normal(7, *y.shape), *xs, *map(np.full_like, xs, [77] * count), dtype=dtype, order=order)


@given(sources(), ORDERS, DTYPES)
def test_maxima_and_their_gradients(xs: list[Array], order: str, dtype: str) -> None:
    y, count = rubbish(*np.broadcast_shapes(*(x.shape for x in xs))), len(xs)

    def both(kernels: Any, y: Array, arg: Array, dy: Array, *arrays: Array) -> Op:
        xs, dxs = arrays[:count], arrays[count:]
        gradients = (kernels.maximum_gradient(arg, k, dy, dx) for k, dx in enumerate(dxs))
        return chain_ops(kernels.maximum(y, xs, arg), *gradients)

    arg, dy = rubbish(*y.shape, dtype="uint8"), normal(7, *y.shape)
    agree(both, y, arg, dy, *xs, *map(np.full_like, xs, [77] * count), dtype=dtype, order=order)


@given(sources(), ORDERS, DTYPES)
def test_folds(xs: list[Array], order: str, dtype: str) -> None:
    src = normal(3, *np.broadcast_shapes(*(x.shape for x in xs)))
    agree(lambda kernels, dst, src: kernels.fold(dst, src), xs[0], src, dtype=dtype, order=order)


@pytest.mark.parametrize("order", ["plain", "last", "crop"])
@pytest.mark.parametrize("left", [(0,), (1,), (0, 1), (2, 3), ()])
def test_what_is_long_is_summed_in_parts(left: tuple[int, ...], order: str) -> None:
    src = normal(1, 3, 40, 30, 25)
    dst = rubbish(*(n if axis in left else 1 for axis, n in enumerate(src.shape)))
    agree(lambda kernels, dst, src: kernels.fold(dst, src), dst, src, order=order)


def test_more_factors_than_a_kernel_takes() -> None:
    xs = [normal(i, 2, 3) for i in range(17)]
    agree(lambda kernels, y, *xs: kernels.multiply(y, xs), rubbish(2, 3), *xs)

    def largest(kernels: Any, y: Array, arg: Array, *xs: Array) -> Op:
        op: Op = kernels.maximum(y, xs, arg)
        return op

    agree(largest, rubbish(2, 3), rubbish(2, 3, dtype="uint8"), *xs)
    device = [cupy().asarray(x) for x in xs[:9]]
    with pytest.raises(ValueError, match="expected at most 8 factors, got 9"):
        fast("float64").multiply_gradient(device, 0, device[0], cupy().zeros((1, 3)))


def test_what_is_no_number_is_the_maximum_and_wins_nothing() -> None:
    xs = [cupy().asarray(np.array([v])) for v in (1.0, np.nan, 2.0)]
    y = cupy().zeros(1)
    arg = cupy().zeros(1, "uint8")
    play(fast("float64").maximum(y, xs, arg))
    assert np.isnan(y.get()).all()
