from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.activation import Kind
from netpart.kernels.onednn import activation
from netpart.kernels.onednn.gelu import STRIP
from netpart.kernels.op import Array
from tests.kernels.harness import normal, play, rubbish
from tests.kernels.onednn_kernels import ORDERS, REFERENCE, fast, lying, near, needed

pytestmark = needed

KINDS: list[Kind] = list(get_args(Kind))
SHAPES = st.lists(st.integers(0, 9), min_size=2, max_size=5)


def results(kind: Kind, x: Array, dy: Array, slope: float) -> tuple[Array, Array]:
    """What the reference says."""
    x, dy = lying("plain", x), lying("plain", dy)
    y, dx = lying("plain", rubbish(*x.shape)), lying("plain", rubbish(*x.shape))
    play(REFERENCE.activation(kind, x, y, slope))
    play(REFERENCE.activation_gradient(kind, x, y, dy, dx, slope))
    return y, dx


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(KINDS), SHAPES, ORDERS, ORDERS, st.sampled_from([0.0, 0.1, 1.5, -0.2]))
def test_agrees_with_the_reference(kind: Kind, shape: list[int], first: str, second: str, slope: float) -> None:
    x = 3 * normal(1, *shape)
    dy = normal(2, *shape)
    kernels = fast()
    wanted_y, wanted_dx = results(kind, x, dy, slope)
    source, y = lying(first, x), lying(second, rubbish(*shape))
    play(kernels.activation(kind, source, y, slope))
    near(y, wanted_y)
    upper, dx = lying(first, dy), lying(first, rubbish(*shape))
    play(kernels.activation_gradient(kind, source, lying(second, wanted_y), upper, dx, slope))
    near(dx, wanted_dx)


@pytest.mark.parametrize("kind", ["relu", "relu6", "sigmoid", "tanh", "stanh"])
def test_works_in_place(kind: Kind) -> None:
    x = normal(1, 2, 8, 3, 5)
    dy = normal(2, 2, 8, 3, 5)
    kernels = fast()
    wanted_y, wanted_dx = results(kind, x, dy, 0.0)
    y, dx = lying("last", x), lying("last", dy)
    play(kernels.activation(kind, y, y))
    play(kernels.activation_gradient(kind, y, y, dx, dx))
    near(y, wanted_y)
    near(dx, wanted_dx)
    assert not kernels.refusals


@settings(max_examples=100, deadline=None)
@given(st.floats(-1e9, 1e9), st.integers(1, 300))
def test_the_gradient_of_a_relu_is_exact(slope: float, size: int) -> None:
    x, dy, kernels = normal(1, size).astype("float32"), normal(2, size).astype("float32"), fast()
    dx = dy.copy()
    play(kernels.activation_gradient("relu", x, x, dx, dx, slope))
    assert np.array_equal(dx, np.where(x > 0, dy, dy * np.float32(slope)))


@pytest.mark.parametrize("kind", ["relu", "relu6", "sigmoid", "tanh", "stanh", "softplus"])
def test_gradients_that_are_functions_of_the_output_are_binary_primitives(kind: Kind) -> None:
    y, dx, kernels = normal(1, 8, 8).astype("float32"), normal(2, 8, 8).astype("float32"), fast()
    play(kernels.activation_gradient(kind, y, y, dx, dx))
    assert [primitive for primitive, _ in kernels.stream.implementations] == ["binary"]


def test_arrays_with_gaps_stay_with_the_reference() -> None:
    whole, kernels = normal(1, 4, 6).astype("float32"), fast()
    y = np.empty((4, 3), "float32")
    play(kernels.activation("relu", whole[:, :3], y))
    near(y, np.maximum(whole[:, :3], 0))
    assert kernels.refusals


@pytest.mark.parametrize("size", [STRIP // 4, 2 * STRIP, 2 * STRIP + 24])
def test_the_gradient_of_tanh_gelu_takes_the_place_of_its_input(size: int) -> None:
    x, dy, kernels = 3 * normal(1, size // 8, 8), normal(2, size // 8, 8), fast()
    _, wanted = results("gelu_tanh", x, dy, 0.0)
    dx = lying("plain", dy)
    play(kernels.activation_gradient("gelu_tanh", lying("plain", x), dx, dx, dx))
    near(dx, wanted)
    assert not kernels.refusals


def test_tanh_gelu_by_the_logistic_function_is_finite_and_exact_far_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # With AVX-512 oneDNN's own code is taken, which is neither: its gradient at 1e30 is no number, as PyTorch's.
    monkeypatch.setattr(activation, "has_slow_tanh", lambda _: True)
    x = np.array([-1e30, -200, -20, -4, -0.0, 4, 20, 200, 1e30], "float32")
    y, dx, kernels = np.empty_like(x), np.empty_like(x), fast()
    play(kernels.activation("gelu_tanh", x, y))
    play(kernels.activation_gradient("gelu_tanh", x, y, np.ones_like(x), dx))
    wanted, slope = results("gelu_tanh", x, np.ones_like(x), 0.0)
    assert np.isfinite([y, dx]).all()
    near(dx, slope)
    # Each by its own size: next to 1e30 all others are nothing.
    for got, expected in zip(y, wanted, strict=True):
        near(got, expected)
