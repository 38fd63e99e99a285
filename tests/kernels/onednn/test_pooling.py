from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.op import Array, Window
from netpart.kernels.pooling import Method, element_counts, winner_dtype
from netpart.kernels.reference import Kernels
from tests.kernels.harness import normal, play, rubbish, windows
from tests.kernels.onednn_kernels import ORDERS, REFERENCE, fast, lying, near, needed

pytestmark = needed

Case = tuple[Array, Array, Window]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sizes, outs, window = draw(windows(draw(st.integers(1, 3)), longest=9))
    batch, channels = draw(st.integers(1, 3)), draw(st.integers(0, 20))
    # Few distinct values, so that ties are common.
    x = np.random.default_rng(draw(st.integers(0, 99))).integers(-3, 2, (batch, channels, *sizes))
    return x.astype("float32"), normal(1, batch, channels, *outs), window


def played(
    kernels: Kernels, orders: tuple[str, str], case: Case, method: Method, area: int | Array
) -> tuple[Array, Array]:
    """y and dx with x and dx, y and dy lying in ``orders``."""
    x, dy, window = case
    below, above = orders
    source, dx = lying(below, x), lying(below, rubbish(*x.shape))
    upper, y = lying(above, dy), lying(above, rubbish(*dy.shape))
    arg = rubbish(*dy.shape, dtype=winner_dtype(window.kernel)) if method == "MAX" else None
    play(kernels.pooling(source, y, arg, window, method, area))
    play(kernels.pooling_gradient(upper, dx, arg, window, method, area))
    return y, dx


@settings(max_examples=200, deadline=None)
@given(cases(), ORDERS, ORDERS, st.sampled_from([0, 1]))
def test_agrees_with_the_reference(case: Case, below: str, above: str, more: int) -> None:
    methods: tuple[Method, Method] = ("MAX", "AVG")
    for method in methods:
        area = prod(case[2].kernel) + more
        wanted = played(REFERENCE, ("plain", "plain"), case, method, area)
        for got, expected in zip(played(fast(), (below, above), case, method, area), wanted, strict=True):
            near(got, expected)


@settings(max_examples=100, deadline=None)
@given(cases(), ORDERS)
def test_a_mean_over_the_elements_alone_agrees_with_the_reference(case: Case, order: str) -> None:
    x, dy, window = case
    area = element_counts(x.shape[2:], dy.shape[2:], window)
    wanted = played(REFERENCE, ("plain", "plain"), case, "AVG", area)
    for got, expected in zip(played(fast(), (order, order), case, "AVG", area), wanted, strict=True):
        near(got, expected)


def test_a_mean_over_the_elements_alone_is_one_of_onednns() -> None:
    window, area = Window((3, 3), (2, 2), ((1, 2), (1, 2))), np.outer([2, 3, 2], [2, 3, 2])
    kernels, case = fast(), (normal(1, 2, 16, 5, 5), normal(2, 2, 16, 3, 3), window)
    wanted = played(REFERENCE, ("plain", "plain"), case, "AVG", area)
    for got, expected in zip(played(kernels, ("last", "last"), case, "AVG", area), wanted, strict=True):
        near(got, expected)
    assert not kernels.refusals
    played(kernels, ("last", "last"), case, "AVG", area + 1)
    assert kernels.refusals


def test_winners_that_do_not_fit_stay_with_the_reference() -> None:
    case = normal(1, 1, 2, 16, 16), normal(2, 1, 2, 1, 1), Window((16, 16), (1, 1), ((0, 0), (0, 0)))
    wanted = played(REFERENCE, ("plain", "plain"), case, "MAX", 256)
    for got, expected in zip(played(fast(), ("last", "last"), case, "MAX", 256), wanted, strict=True):
        near(got, expected)


def test_nobody_wants_the_winners() -> None:
    x = lying("last", normal(1, 2, 16, 6, 6))
    y = lying("last", rubbish(2, 16, 3, 3))
    kernels = fast()
    play(kernels.pooling(x, y, None, Window((2, 2), (2, 2), ((0, 0), (0, 0))), "MAX", 4))
    assert not kernels.refusals
    near(y, x.reshape(2, 16, 3, 2, 3, 2).max(axis=(3, 5)))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(1, 20), st.sampled_from([-7.0, 0.0, 5.0]), st.data())
def test_of_equal_numbers_the_first_wins_and_padding_never(
    axes: int, channels: int, value: float, data: st.DataObject
) -> None:
    """Bit by bit; 0 and -0 are equal."""
    sizes, outs, window = data.draw(windows(axes, longest=9))
    random = np.random.default_rng(1)
    x = value * random.choice([-1.0, 1.0] if value == 0 else [1.0], (2, channels, *sizes))
    case = x.astype("float32"), random.integers(1, 9, (2, channels, *outs)).astype("float32"), window
    wanted = played(REFERENCE, ("plain", "plain"), case, "MAX", 1)
    for got, right in zip(played(fast(), ("last", "last"), case, "MAX", 1), wanted, strict=True):
        np.testing.assert_array_equal(got, right)
