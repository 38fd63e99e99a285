from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels import columns
from netpart.kernels.op import Array, Window
from netpart.kernels.reference import Kernels
from tests.kernels.harness import K, across, close, normal, peak_bytes, play, rubbish, window_boxes, windows


def naive(x: Array, w: Array, b: Array | None, y_shape: tuple[int, ...], window: Window) -> Array:
    y = np.zeros(y_shape)
    for at, inside in window_boxes(x.shape[2:], y_shape[2:], window):
        for offset, where in inside:
            y[across(at)] += x[across(where)] @ w[across(offset)].T
    return y if b is None else y + b.reshape(-1, *([1] * (y.ndim - 2)))


def naive_gradients(x: Array, w: Array, dy: Array, window: Window) -> tuple[Array, Array]:
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for at, inside in window_boxes(x.shape[2:], dy.shape[2:], window):
        dy_bf = dy[across(at)]
        for offset, where in inside:
            dx[across(where)] += dy_bf @ w[across(offset)]
            dw[across(offset)] += dy_bf.T @ x[across(where)]
    return dx, dw


@st.composite
def cases(draw: st.DrawFn) -> tuple[Array, Array, Array | None, Array, Window]:
    sizes, outs, window = draw(windows(draw(st.integers(1, 3)), longest=5))
    batch, channels, filters = (draw(st.integers(low, 3)) for low in (1, 0, 0))
    x, w = normal(1, batch, channels, *sizes), normal(2, filters, channels, *window.kernel)
    b = normal(3, filters) if draw(st.booleans()) else None
    return x, w, b, normal(4, batch, filters, *outs), window


@settings(max_examples=200, deadline=None)
@given(cases(), st.sampled_from([1, 200, 1 << 20]))
def test_agrees_with_the_definition_whatever_the_chunks(
    case: tuple[Array, Array, Array | None, Array, Window], limit: int
) -> None:
    x, w, b, dy, window = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "LIMIT", limit)
        y = rubbish(*dy.shape)
        dx = rubbish(*x.shape)
        dw = rubbish(*w.shape)
        db = None if b is None else rubbish(*b.shape)
        play(K.convolution(x, w, b, y, window))
        play(K.convolution_data(dy, w, dx, window))
        play(K.convolution_weights(x, dy, dw, db, window))
    wanted_dx, wanted_dw = naive_gradients(x, w, dy, window)
    close(y, naive(x, w, b, dy.shape, window))
    close(dx, wanted_dx)
    close(dw, wanted_dw)
    if db is not None:
        close(db, dy.sum(axis=(0, *range(2, dy.ndim))))


@settings(max_examples=60, deadline=None)
@given(cases())
def test_gradients_are_the_adjoints_of_forward(case: tuple[Array, Array, Array | None, Array, Window]) -> None:
    """Forward is linear in x and in w, so <dy, conv(x', w)> = <dx, x'> and <dy, conv(x, w')> = <dw, w'>."""
    x, w, _, dy, window = case
    dx = np.empty_like(x)
    dw = np.empty_like(w)
    y = np.empty_like(dy)
    play(K.convolution_data(dy, w, dx, window))
    play(K.convolution_weights(x, dy, dw, None, window))
    play(K.convolution(x, w, None, y, window))
    close(np.vdot(dy, y), np.vdot(dx, x), 1e-9)
    close(np.vdot(dy, y), np.vdot(dw, w), 1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(1, 2), st.integers(1, 2), st.tuples(st.integers(1, 3), st.integers(1, 2)))
def test_a_group_is_a_convolution_of_its_own(groups: int, seen: int, share: int, dilation: tuple[int, int]) -> None:
    window = Window((2, 3), (1, 2), ((1, 0), (2, 1)), dilation)
    outs = 6 + 1 - dilation[0], (7 + 3 - 2 * dilation[1] - 1) // 2 + 1
    x = normal(1, 2, groups * seen, 6, 7)
    w = normal(2, groups * share, seen, 2, 3)
    b = normal(3, groups * share)
    y, dy = rubbish(2, groups * share, *outs), normal(4, 2, groups * share, *outs)
    dx = rubbish(*x.shape)
    dw = rubbish(*w.shape)
    db = rubbish(*b.shape)
    play(K.convolution(x, w, b, y, window, groups))
    play(K.convolution_data(dy, w, dx, window, groups))
    play(K.convolution_weights(x, dy, dw, db, window, groups))
    for g in range(groups):
        c, f = slice(g * seen, (g + 1) * seen), slice(g * share, (g + 1) * share)
        wanted_dx, wanted_dw = naive_gradients(x[:, c], w[f], dy[:, f], window)
        close(y[:, f], naive(x[:, c], w[f], b[f], dy[:, f].shape, window))
        close(dx[:, c], wanted_dx)
        close(dw[f], wanted_dw)
    close(db, dy.sum(axis=(0, 2, 3)))


def test_one_image_larger_than_the_limit_is_cut_into_rows() -> None:
    geometry = columns.Im2colGeometry(
        np, (2, 64, 40, 40, 40), (2, 8, 38, 38, 38), Window((3,) * 3, (1,) * 3, ((0, 0),) * 3), 4
    )
    assert len(geometry.images) == 2
    assert len(geometry.rows) > 1
    row = 64 * 27 * 38 * 38 * 4
    assert geometry.sizes[1] * 4 <= max(columns.LIMIT, row)


def test_the_limit_is_kept_by_cutting_the_batch() -> None:
    geometry = columns.Im2colGeometry(np, (64, 20, 12, 12), (64, 50, 8, 8), Window((5, 5), (1, 1), ((0, 0),) * 2), 4)
    assert 1 < len(geometry.images) < 64
    assert geometry.sizes[1] * 4 <= columns.LIMIT


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_allocates_nothing(dtype: str) -> None:
    kernels, window = Kernels(np, dtype), Window((3, 3), (1, 1), ((1, 1), (1, 0)))
    x, w, b = (normal(i, *s).astype(dtype) for i, s in enumerate([(8, 4, 12, 12), (6, 4, 3, 3), (6,)]))
    y = normal(4, 8, 6, 12, 11).astype(dtype)
    ops = [
        kernels.convolution(x, w, b, y, window),
        kernels.convolution_data(y, w, np.empty_like(x), window),
        kernels.convolution_weights(x, y, np.empty_like(w), np.empty_like(b), window),
    ]
    assert max(map(peak_bytes, ops)) < 4096


def test_float32_stays_close_to_float64() -> None:
    x = normal(1, 4, 8, 9, 9)
    w = normal(2, 5, 8, 3, 3)
    b = normal(3, 5)
    window = Window((3, 3), (2, 2), ((1, 1),) * 2)
    y, y32 = np.empty((4, 5, 5, 5)), np.empty((4, 5, 5, 5), "float32")
    play(K.convolution(x, w, b, y, window))
    x32, w32, b32 = (a.astype("float32") for a in (x, w, b))
    play(Kernels(np, "float32").convolution(x32, w32, b32, y32, window))
    close(y32, y, 1e-4)


def test_refuses_gradients_that_are_not_contiguous() -> None:
    dw = normal(2, 3, 3, 2, 5).transpose(3, 2, 0, 1)
    window = Window((3, 3), (1, 1), ((0, 0),) * 2)
    with pytest.raises(ValueError, match="contiguous"):
        K.convolution_weights(normal(1, 1, 2, 4, 4), np.empty((1, 5, 2, 2)), dw, None, window)


@pytest.mark.parametrize("groups", [1, 2])
def test_weights_lie_in_any_order(groups: int) -> None:
    plain, window = normal(2, 4, 4 // groups, 3, 3), Window((3, 3), (1, 1), ((1, 0),) * 2)
    last = np.moveaxis(np.ascontiguousarray(np.moveaxis(plain, 1, -1)), -1, 1)
    x, dy, found = normal(1, 2, 4, 5, 5), normal(3, 2, 4, 4, 4), []
    for w in (plain, last):
        y, dx = rubbish(2, 4, 4, 4), rubbish(2, 4, 5, 5)
        play(K.convolution(x, w, None, y, window, groups))
        play(K.convolution_data(dy, w, dx, window, groups))
        found.append((y, dx))
    for rows, columns_last in zip(*found, strict=True):
        assert np.array_equal(rows, columns_last)
