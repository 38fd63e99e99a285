from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.errors import NetpartError
from netpart.kernels.activation import Kind
from netpart.kernels.cuda.blas import even_step, load_cublas
from netpart.kernels.cuda.kernels import Kernels as Fast
from netpart.kernels.op import Array, Op
from netpart.kernels.reference import Kernels
from tests.cuda.agreement import DTYPES, agree, fast, play
from tests.cuda.module import ON_GPU, cupy
from tests.kernels.harness import normal, rubbish
from tests.kernels.test_inner_product import Case, cases

ROUNDED = {"tf32": 2.0**-10, "bfloat16": 2.0**-8}
"""What rounding to a precision changes of a number, relatively, at most."""


@settings(max_examples=80, deadline=None)
@given(cases(), DTYPES, st.sampled_from([None, "relu", "tanh"]))
def test_inner_product_agrees_with_the_reference(case: Case, dtype: str, activation: Kind | None) -> None:
    x, w, b, dy, transpose = case
    gradients = rubbish(*x.shape), rubbish(*w.shape), None if b is None else rubbish(*b.shape)

    def forward(kernels: Kernels, x: Array, w: Array, b: Array | None, y: Array) -> Op:
        return kernels.inner_product(x, w, b, y, transpose, activation)

    def added(kernels: Kernels, x: Array, w: Array, b: Array | None, y: Array) -> Op:
        return kernels.inner_product(x, w, b, y, transpose, activation, True)

    def data(kernels: Kernels, dy: Array, w: Array, dx: Array) -> Op:
        return kernels.inner_product_data(dy, w, dx, transpose)

    def weights(kernels: Kernels, x: Array, dy: Array, dw: Array, db: Array | None) -> Op:
        return kernels.inner_product_weights(x, dy, dw, db, transpose)

    agree(forward, x, w, b, rubbish(*dy.shape), dtype=dtype)
    agree(added, x, w, b, normal(6, *dy.shape), dtype=dtype)
    agree(data, dy, w, gradients[0], dtype=dtype)
    agree(
        lambda k, dy, w, dx: k.inner_product_data(dy, w, dx, transpose, True), dy, w, normal(7, *x.shape), dtype=dtype
    )
    agree(weights, x, dy, gradients[1], gradients[2], dtype=dtype)


@pytest.mark.skipif(ON_GPU, reason="what a GPU has algorithms for is its own")
@pytest.mark.parametrize("transpose", [False, True])
def test_biases_take_no_launch_of_their_own(transpose: bool) -> None:
    xp, kernels = cupy(), fast("float32")
    x, w, b, y = (
        xp.asarray(m.astype("float32")) for m in (normal(1, 8, 6), normal(2, 6, 6), normal(3, 6), rubbish(8, 6))
    )
    with patch.object(kernels, "bound", side_effect=AssertionError("a kernel of our own")):
        play(kernels.inner_product(x, w, b, y, transpose, "relu"))
        play(kernels.inner_product_weights(x, y, w, b, transpose))
    np.testing.assert_allclose(b.get(), y.get().sum(0), rtol=1e-5)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 3), max_size=3), st.tuples(*[st.integers(0, 4)] * 3), st.booleans(), st.booleans(), DTYPES
)
def test_matmul_agrees_with_the_reference(
    lead: list[int], extents: tuple[int, int, int], turn_a: bool, turn_b: bool, dtype: str
) -> None:
    rows, terms, columns = extents
    a = normal(1, *lead, *((terms, rows) if turn_a else (rows, terms)))
    b = normal(2, *lead, *((columns, terms) if turn_b else (terms, columns)))
    agree(lambda k, a, b, y: k.matmul(a, b, y, turn_a, turn_b), a, b, rubbish(*lead, rows, columns), dtype=dtype)


def test_parts_of_larger_matrices() -> None:
    xp, kernels = cupy(), fast("float64")
    a = normal(1, 3, 4, 5, 6)
    b = normal(2, 3, 4, 6, 7)
    y = rubbish(3, 4, 5, 7)
    box = slice(1, 3), slice(0, 2), slice(1, 5)
    wanted = a[box][..., 2:] @ b[box[:2]][..., 2:, 1:4]
    on_device = [xp.asarray(m) for m in (a, b, y)]
    play(kernels.matmul(on_device[0][box][..., 2:], on_device[1][box[:2]][..., 2:, 1:4], on_device[2][box][..., 3:6]))
    found = on_device[2].get()
    np.testing.assert_allclose(found[box][..., 3:6], wanted, rtol=1e-12)
    assert (np.delete(found.ravel(), np.arange(y.size).reshape(y.shape)[box][..., 3:6].ravel()) == 77).all()


def test_a_product_into_columns_is_turned() -> None:
    xp = cupy()
    a = normal(1, 3, 4)
    b = normal(2, 4, 5)
    y = xp.asarray(rubbish(5, 3))
    play(fast("float64").matmul(xp.asarray(a), xp.asarray(b), y.swapaxes(0, 1)))
    np.testing.assert_allclose(y.get(), (a @ b).T, rtol=1e-12)


def test_what_lies_in_pieces_is_refused() -> None:
    a = cupy().asarray(normal(1, 4, 6))
    with pytest.raises(ValueError, match="rows or columns in one piece"):
        fast("float64").matmul(a[:, ::2], a[:3, :2], a[:4, :2])


@pytest.mark.parametrize("precision", ROUNDED)
def test_precision_is_what_is_asked_for(precision: str) -> None:
    xp = cupy()
    a = normal(1, 8, 64)
    b = normal(2, 64, 8)
    y = xp.asarray(rubbish(8, 8).astype("float32"))
    play(Fast(xp, "float32", precision).matmul(xp.asarray(a.astype("float32")), xp.asarray(b.astype("float32")), y))
    error = np.abs(y.get() - a @ b).max() / np.max(np.abs(a) @ np.abs(b))
    assert ROUNDED[precision] / 100 < error < 2.1 * ROUNDED[precision]


def test_a_captured_product_reads_what_is_there_when_it_is_replayed() -> None:
    xp, kernels = cupy(), fast("float64")
    x, w, b, y = (xp.asarray(m) for m in (normal(1, 5, 4), normal(2, 3, 4), normal(3, 3), rubbish(5, 3)))
    op = kernels.inner_product(x, w, b, y, False)
    scratch = [xp.empty(shape, dtype) for shape, dtype in op.scratch]
    op.run(*scratch)
    kernels.device.stream.begin_capture()
    op.run(*scratch)
    graph = kernels.device.stream.end_capture()
    x.set(normal(4, 5, 4))
    graph.launch()
    np.testing.assert_allclose(y.get(), x.get() @ w.get().T + b.get(), rtol=1e-12)


def test_steps_are_even_or_not() -> None:
    assert (
        even_step((), ()),
        even_step((2, 3), (30, 10)),
        even_step((2, 3), (40, 10)),
        even_step((2, 1), (7, 99)),
    ) == (
        0,
        10,
        None,
        7,
    )


def test_a_missing_library_is_named() -> None:
    module = SimpleNamespace(
        cuda=SimpleNamespace(runtime=SimpleNamespace(runtimeGetVersion=lambda: 99000), cublas=None)
    )
    with pytest.raises(NetpartError, match=r"libcublas.so.99.*pip install"):
        load_cublas(module)
