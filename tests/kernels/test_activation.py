from __future__ import annotations

from math import erfc, exp, log1p, pi, sqrt, tanh

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.activation import Kind
from netpart.kernels.reference import Kernels
from tests.kernels.harness import K, close, derivative, normal, peak_bytes, play, rubbish

KINDS: tuple[Kind, ...] = (
    "relu", "relu6", "sigmoid", "tanh", "stanh", "elu", "softplus", "silu", "mish", "gelu", "gelu_tanh",
)  # fmt: skip


def naive(kind: Kind, x: float, slope: float) -> float:
    values = {
        "relu": x if x > 0 else slope * x,
        "relu6": min(max(x, 0), 6),
        "sigmoid": 1 / (1 + exp(-x)),
        "tanh": tanh(x),
        "stanh": 1.7159047 * tanh(0.66666667 * x),
        "elu": x if x > 0 else slope * (exp(x) - 1),
        "softplus": log1p(exp(x)),
        "silu": x / (1 + exp(-x)),
        "mish": x * tanh(log1p(exp(x))),
        "gelu": x * erfc(-x / sqrt(2)) / 2,
        "gelu_tanh": x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2,
    }
    return values[kind]


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.lists(st.integers(0, 4), min_size=1, max_size=3),
    st.sampled_from([-0.5, 0.0, 0.1, 1.0, 2.0]),
)
def test_value_and_gradient(kind: Kind, shape: list[int], slope: float) -> None:
    x, dy = normal(1, *shape), normal(2, *shape)
    y, dx = rubbish(*shape), rubbish(*shape)
    play(K.activation(kind, x, y, slope))
    play(K.activation_gradient(kind, x, y, dy, dx, slope))
    close(y, np.array([naive(kind, v, slope) for v in x.ravel()]).reshape(shape))
    objective = rubbish(*shape)
    op = K.activation(kind, x, objective, slope)

    def total() -> float:
        play(op)
        return float((objective * dy).sum())

    close(dx, derivative(total, x), 1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_extreme_values_raise_no_warning(kind: Kind) -> None:
    x = np.array([-1e30, -200, -0.0, 0, 200, 1e30], "float32")
    y, dx = np.empty_like(x), np.empty_like(x)
    kernels = Kernels(np, "float32")
    with np.errstate(all="raise", under="ignore"):
        play(kernels.activation(kind, x, y, 0.0))
        play(kernels.activation_gradient(kind, x, y, np.ones_like(x), dx, 0.0))
    assert np.isfinite(y).all()
    assert np.isfinite(dx).all()


def test_gelu_is_exact_to_the_last_digits_far_out_too() -> None:
    x = np.linspace(-30, 30, 2001)
    y = rubbish(2001)
    play(K.activation("gelu", x, y))
    np.testing.assert_allclose(y, [naive("gelu", v, 0) for v in x], rtol=1e-12, atol=1e-15)


def test_the_gradient_of_relu_at_zero_is_the_slope() -> None:
    x = np.zeros(1)
    y = np.zeros(1)
    dx = rubbish(1)
    play(K.activation_gradient("relu", x, y, np.ones(1), dx, 0.25))
    assert dx.tolist() == [0.25]


@pytest.mark.parametrize(("kind", "slope"), [("silu", 0.5), ("mish", 0.6), ("gelu", 0.5), ("gelu_tanh", 0.5)])
def test_the_gradient_of_a_gate_at_zero_whatever_its_sign(kind: Kind, slope: float) -> None:
    x = np.array([0.0, -0.0])
    y = np.zeros(2)
    dx = rubbish(2)
    play(K.activation_gradient(kind, x, y, np.ones(2), dx))
    np.testing.assert_allclose(dx, slope, rtol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_allocates_nothing(kind: Kind) -> None:
    x, y = normal(1, 50, 70), normal(2, 50, 70)
    assert peak_bytes(K.activation(kind, x, y, 0.1)) < 4096
    assert peak_bytes(K.activation_gradient(kind, x, y, y, np.empty_like(x), 0.1)) < 4096
