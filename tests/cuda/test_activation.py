from __future__ import annotations

from math import erfc, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels.activation import KINDS, Kind
from netpart.kernels.op import Array, Op, chain_ops
from tests.cuda.agreement import DTYPES, ORDERS, agree, fast, play
from tests.cuda.module import cupy
from tests.kernels.harness import normal, rubbish

SLOPES = st.sampled_from([-0.5, 0.0, 0.1, 1.0, 2.0])


@given(st.sampled_from(list(KINDS)), st.lists(st.integers(0, 4), min_size=1, max_size=4), SLOPES, ORDERS, DTYPES)
def test_value_and_gradient(kind: Kind, shape: list[int], slope: float, order: str, dtype: str) -> None:
    def both(kernels: Any, x: Array, y: Array, dy: Array, dx: Array) -> Op:
        forward = kernels.activation(kind, x, y, slope)
        return chain_ops(forward, kernels.activation_gradient(kind, x, y, dy, dx, slope))

    agree(both, normal(1, *shape) * 4, rubbish(*shape), normal(2, *shape), rubbish(*shape), dtype=dtype, order=order)


@pytest.mark.parametrize("kind", ["relu", "relu6", "sigmoid", "tanh", "stanh", "softplus"])
def test_over_its_own_input(kind: Kind) -> None:
    def both(kernels: Any, x: Array, dy: Array) -> Op:
        return chain_ops(kernels.activation(kind, x, x), kernels.activation_gradient(kind, x, x, dy, dy))

    agree(both, normal(1, 5, 6) * 4, normal(2, 5, 6))


@pytest.mark.parametrize("kind", KINDS.values())
@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_extreme_values(kind: Kind, slope: float) -> None:
    def both(kernels: Any, x: Array, y: Array, dy: Array, dx: Array) -> Op:
        forward = kernels.activation(kind, x, y, slope)
        return chain_ops(forward, kernels.activation_gradient(kind, x, y, dy, dx, slope))

    x = np.array([-1e30, -200, -12, -0.0, 0, 12, 200, 1e30])
    for dtype in ("float32", "float64"):
        with np.errstate(under="ignore"):
            agree(both, x, rubbish(8), np.ones(8), rubbish(8), dtype=dtype)


@pytest.mark.parametrize("kind", KINDS.values())
def test_what_is_no_number_stays_none(kind: Kind) -> None:
    x, y = cupy().asarray(np.array([np.nan])), cupy().zeros(1)
    play(fast("float64").activation(kind, x, y))
    assert np.isnan(y.get()).all()


def test_gelu_keeps_its_digits_far_out() -> None:
    x = np.linspace(-30, 30, 2001)
    y = cupy().zeros(2001)
    play(fast("float64").activation("gelu", cupy().asarray(x), y))
    np.testing.assert_allclose(y.get(), [v * erfc(-v / sqrt(2)) / 2 for v in x], rtol=1e-12, atol=1e-15)
