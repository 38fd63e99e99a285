from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.op import Array, Window
from netpart.kernels.pooling import Method, winner_dtype
from tests.kernels.harness import K, across, close, normal, peak_bytes, play, rubbish, window_boxes, windows

Case = tuple[Array, Array, Window]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sizes, outs, window = draw(windows(draw(st.integers(1, 3))))
    channels = draw(st.integers(0, 2))
    values = draw(st.integers(0, 2**32 - 1))
    # Few distinct values, so that ties are common.
    x = np.random.default_rng(values).integers(-3, 1, (2, channels, *sizes)).astype("float64")
    return x, normal(1, 2, channels, *outs), window


def naive_maximum(x: Array, dy: Array, window: Window) -> tuple[Array, Array]:
    y, dx = np.zeros(dy.shape), np.zeros(x.shape)
    for at, inside in window_boxes(x.shape[2:], dy.shape[2:], window):
        for row in np.ndindex(*x.shape[:2]):
            if inside:
                best = max((where for _, where in inside), key=lambda where: x[row + where])
                y[row + at] = x[row + best]
                dx[row + best] += dy[row + at]
    return y, dx


@settings(max_examples=200, deadline=None)
@given(cases())
def test_maximum_and_its_gradient_take_the_first_of_equals(case: Case) -> None:
    x, dy, window = case
    y = rubbish(*dy.shape)
    dx = rubbish(*x.shape)
    arg = rubbish(*dy.shape, dtype=winner_dtype(window.kernel))
    play(K.pooling(x, y, arg, window, "MAX", 1))
    play(K.pooling_gradient(dy, dx, arg, window, "MAX", 1))
    wanted, wanted_dx = naive_maximum(x, dy, window)
    assert np.array_equal(y, wanted)
    close(dx, wanted_dx)
    alone = rubbish(*dy.shape)
    play(K.pooling(x, alone, None, window, "MAX", 1))
    assert np.array_equal(alone, wanted)


@settings(max_examples=200, deadline=None)
@given(cases(), st.booleans())
def test_average_divides_by_the_area_it_is_told(case: Case, clipped: bool) -> None:
    x, dy, window = case
    boxes = window_boxes(x.shape[2:], dy.shape[2:], window)
    area: int | Array = prod(window.kernel)
    if clipped:
        area = np.array([len(inside) for _, inside in boxes], dtype="int64").reshape(dy.shape[2:])
    y, dx = rubbish(*dy.shape), rubbish(*x.shape)
    play(K.pooling(x, y, None, window, "AVG", area))
    play(K.pooling_gradient(dy, dx, None, window, "AVG", area))
    wanted, wanted_dx = np.zeros(dy.shape), np.zeros(x.shape)
    for at, inside in boxes:
        for _, where in inside:
            share = len(inside) if clipped else prod(window.kernel)
            wanted[across(at)] += x[across(where)] / share
            wanted_dx[across(where)] += dy[across(at)] / share
    close(y, wanted)
    close(dx, wanted_dx)


def test_minus_infinity_beats_padding() -> None:
    x, arg = np.full((1, 1, 2), -np.inf), np.full((1, 1, 2), 9, "uint8")
    y, window = rubbish(1, 1, 2), Window((2,), (2,), ((1, 1),))
    play(K.pooling(x, y, arg, window, "MAX", 1))
    assert y.tolist() == [[[-np.inf, -np.inf]]]
    assert arg.tolist() == [[[1, 0]]]


def test_a_nan_is_not_hidden() -> None:
    x = np.array([[[1.0, np.nan, 3.0, 2.0]]])
    y = rubbish(1, 1, 2)
    play(K.pooling(x, y, np.empty((1, 1, 2), "uint8"), Window((2,), (2,), ((0, 0),)), "MAX", 1))
    assert np.isnan(y[0, 0, 0])
    assert y[0, 0, 1] == 3


def test_winners_of_large_windows_need_more_than_a_byte() -> None:
    x, window = np.zeros((1, 1, 17, 17)), Window((17, 17), (1, 1), ((0, 0), (0, 0)))
    x[0, 0, 16, 16] = 1
    arg, dx = np.empty((1, 1, 1, 1), winner_dtype(window.kernel)), rubbish(*x.shape)
    play(K.pooling(x, rubbish(1, 1, 1, 1), arg, window, "MAX", 1))
    assert arg.item() == 288
    play(K.pooling_gradient(np.full((1, 1, 1, 1), 5.0), dx, arg, window, "MAX", 1))
    close(dx, 5 * x)


def test_max_gradient_without_winners_is_refused() -> None:
    with pytest.raises(ValueError, match="arg"):
        K.pooling_gradient(rubbish(1, 1, 1), rubbish(1, 1, 2), None, Window((2,), (1,), ((0, 0),)), "MAX", 1)


@pytest.mark.parametrize("method", ["MAX", "AVG"])
def test_allocates_nothing(method: Method) -> None:
    x = normal(1, 8, 4, 13, 13)
    y = normal(2, 8, 4, 7, 7)
    window = Window((3, 3), (2, 2), ((1, 1), (1, 1)))
    arg = np.zeros(y.shape, "uint8")
    assert peak_bytes(K.pooling(x, y, arg, window, method, 9)) < 4096
    assert peak_bytes(K.pooling_gradient(y, np.empty_like(x), arg, window, method, 9)) < 4096
