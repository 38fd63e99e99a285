from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.cuda import pooling
from netpart.kernels.op import Array, Op, Window, chain_ops
from netpart.kernels.pooling import winner_dtype
from netpart.kernels.reference import Kernels
from tests.cuda.agreement import DTYPES, ORDERS, agree, fast, lying, play
from tests.kernels.harness import normal, rubbish, windows

Case = tuple[Array, Array, Window]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """x, dy and a window; perhaps without an axis of channels."""
    sizes, outs, window = draw(windows(draw(st.integers(1, 3)), 5))
    lead = draw(st.sampled_from([(), (0,), (1,), (4,), (5,)]))
    # Few distinct values, so that ties are common.
    x = np.random.default_rng(draw(st.integers(0, 99))).integers(-3, 1, (2, *lead, *sizes)).astype("float64")
    return x, normal(1, 2, *lead, *outs), window


@settings(max_examples=50, deadline=None)
@given(cases(), ORDERS, DTYPES)
def test_maximum_and_its_gradient(case: Case, order: str, dtype: str) -> None:
    x, dy, window = case

    def both(kernels: Kernels, x: Array, y: Array, dy: Array, dx: Array) -> Op:
        arg = lying(np.full(y.shape, 7, winner_dtype(window.kernel)), order) if kernels is fast(dtype) else None
        arg = rubbish(*y.shape, dtype=winner_dtype(window.kernel)) if arg is None else arg
        forward = kernels.pooling(x, y, arg, window, "MAX", 1)
        return chain_ops(forward, kernels.pooling_gradient(dy, dx, arg, window, "MAX", 1))

    agree(both, x, rubbish(*dy.shape), dy, rubbish(*x.shape), dtype=dtype, order=order)


@settings(max_examples=50, deadline=None)
@given(cases(), ORDERS, DTYPES, st.sampled_from(["common", "host", "device"]))
def test_average_and_its_gradient(case: Case, order: str, dtype: str, divisor: str) -> None:
    x, dy, window = case
    spatial = dy.shape[-len(window.kernel) :]
    areas = np.arange(prod(spatial)).reshape(spatial)

    def both(kernels: Kernels, x: Array, y: Array, dy: Array, dx: Array) -> Op:
        area = {"common": prod(window.kernel), "host": areas, "device": kernels.xp.asarray(areas)}[divisor]
        forward = kernels.pooling(x, y, None, window, "AVG", area)
        return chain_ops(forward, kernels.pooling_gradient(dy, dx, None, window, "AVG", area))

    agree(both, x, rubbish(*dy.shape), dy, rubbish(*x.shape), dtype=dtype, order=order)


def test_winners_of_large_windows_need_more_than_a_byte() -> None:
    x, window = np.zeros((1, 1, 17, 17)), Window((17, 17), (1, 1), ((0, 0), (0, 0)))
    x[0, 0, 16, 16] = 1
    assert winner_dtype(window.kernel) == "int32"

    def both(kernels: Kernels, x: Array, y: Array, arg: Array, dx: Array) -> Op:
        forward = kernels.pooling(x, y, arg, window, "MAX", 1)
        return chain_ops(forward, kernels.pooling_gradient(y, dx, arg, window, "MAX", 1))

    agree(both, x, rubbish(1, 1, 1, 1), rubbish(1, 1, 1, 1, dtype="int32"), rubbish(*x.shape))


def test_minus_infinity_beats_padding_and_a_nan_is_not_hidden() -> None:
    x = lying(np.array([[[-np.inf, -np.inf, 1.0, np.nan, 2.0]]]), "plain")
    y, arg = lying(rubbish(1, 1, 3), "plain"), lying(rubbish(1, 1, 3, dtype="uint8"), "plain")
    play(fast("float64").pooling(x, y, arg, Window((2,), (2,), ((1, 1),)), "MAX", 1))
    np.testing.assert_array_equal(y.get(), [[[-np.inf, 1.0, np.nan]]])
    assert arg.get().tolist() == [[[1, 1, 0]]]


def test_max_gradient_without_winners_is_refused() -> None:
    a = lying(rubbish(1, 1, 1), "plain")
    with pytest.raises(ValueError, match="arg"):
        fast("float64").pooling_gradient(a, a, None, Window((1,), (1,), ((0, 0),)), "MAX", 1)


@pytest.mark.parametrize("value", [1, 2, 3, 7, 10, 64, 112, 641, 65535, 2**31 - 1, 2**31 + 3, 2**32 - 1])
def test_any_number_is_divided_as_integers_are(value: int) -> None:
    _, magic, first, rest = pooling._divisor_struct(value)
    random = np.random.default_rng(value).integers(0, 2**32, 10000)
    edges = [
        n for k in (0, 1, 2, 2**31 // value, (2**32 - 1) // value) for n in (k * value - 1, k * value, k * value + 1)
    ]
    for n in [*map(int, random), 2**32 - 1, *(n for n in edges if 0 <= n < 2**32)]:
        high = magic * n >> 32
        assert (high + (n - high >> first)) % 2**32 >> rest == n // value
