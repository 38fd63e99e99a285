from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.errors import DataError
from netpart.kernels.op import Array
from netpart.kernels.reference import Kernels
from tests.kernels.harness import K, close, derivative, normal, peak_bytes, play, rubbish

SHARE, SCALE, FACTOR = 4, 1.5, 0.7
Case = tuple[Array, Array, Array, Array | None]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Numbers (B, C, I), others, labels, and the mask of owned elements or rows."""
    shape = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    owned = draw(st.sampled_from([None, rng.random(shape) < 0.5, rng.random(shape[:1]) < 0.5]))
    return rng.normal(size=shape) * 3, rng.normal(size=shape), rng.integers(0, 2, shape, "int32"), owned


def mask(owned: Array | None, shape: tuple[int, ...]) -> Any:
    """1 for owned elements."""
    return 1 if owned is None else np.broadcast_to(owned.reshape(*owned.shape, *[1] * (3 - owned.ndim)), shape)


def slope_of(op: Any, metrics: Array, x: Array) -> Array:
    """The derivative of the first metric."""

    def loss() -> float:
        metrics[:] = 0
        play(op)
        return float(metrics[0])

    return derivative(loss, x)


@settings(max_examples=80, deadline=None)
@given(cases(), st.sampled_from([0.0, 0.8]))
def test_distance_losses_and_their_gradients(case: Case, delta: float) -> None:
    x, t, _, owned = case
    y, dx, metrics = rubbish(*x.shape), rubbish(*x.shape), np.array([3.0])
    op = K.distance_loss(x, t, y, metrics, owned, delta, SHARE, SCALE)
    play(op)
    far = np.abs(x - t)
    each = np.where(far <= delta, far**2 / 2, delta * (far - delta / 2)) if delta else far
    close(y, x - t)
    close(metrics, 3 + (each * mask(owned, x.shape)).sum() * SCALE / SHARE)
    play(K.distance_loss_gradient(y, dx, SCALE / SHARE, delta, owned))
    close(dx, slope_of(op, metrics, x), 1e-8)


@settings(max_examples=80, deadline=None)
@given(cases(), st.booleans())
def test_binary_loss_and_its_gradient(case: Case, weighted: bool) -> None:
    x, _, label, owned = case
    weights = [0.5 + k if weighted else 1.0 for k in range(x.shape[1])]
    y, dx, metrics = rubbish(*x.shape), rubbish(*x.shape), np.array([3.0, 4.0])
    op = K.binary_loss(x, label, y, metrics, owned, weights, SHARE, SCALE)
    play(op)
    p = 1 / (1 + np.exp(-x))
    each = np.where(label == 1, -np.log(p) * np.reshape(weights, (-1, 1)), -np.log(1 - p))
    mine = mask(owned, x.shape)
    close(y, p)
    close(metrics[0], 3 + (each * mine).sum() * SCALE / SHARE)
    close(metrics[1], 4 + (((p > 0.5) == (label == 1)) * mine).sum() / SHARE)
    play(K.binary_loss_gradient(y, label, dx, owned, weights, SCALE / SHARE))
    close(dx, slope_of(op, metrics, x), 1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_binary_loss_is_exact_however_large_logits_are(dtype: str) -> None:
    """Where exp overflows, and where 1 - y is 0: -log(1 + exp(-60)) is 8.8e-27, not 0."""
    x = np.array([[1e30, -1e30, 900.0, -900.0, 60.0, -60.0, 0.0]], dtype)
    for wanted in (0, 1):
        metrics, y = np.zeros(2), rubbish(*x.shape, dtype=dtype)
        for k in range(x.size):
            metrics[:] = 0
            one, out = x[:, k : k + 1].copy(), y[:, k : k + 1].copy()
            with np.errstate(all="raise", under="ignore"):
                label = np.full((1, 1), wanted, "int32")
                play(Kernels(np, dtype).binary_loss(one, label, out, metrics, None, [1.0], 1, 1.0))
            signed = float(one[0, 0]) * (1 if wanted == 0 else -1)
            exact = max(signed, 0) + np.log1p(np.exp(-abs(signed)))
            assert metrics[0] == pytest.approx(exact, rel=4 * float(np.finfo(dtype).eps))


def test_a_diverged_net_predicts_nothing() -> None:
    metrics = np.zeros(2)
    x = np.full((2, 3), np.nan)
    play(K.binary_loss(x, np.array([[0, 1, 0]] * 2, "int32"), rubbish(2, 3), metrics, None, [1.0] * 3, 3, 1.0))
    assert np.isnan(metrics[0])
    assert metrics[1] == 0


@pytest.mark.parametrize(("label", "got"), [([[0, 3]], "got 3"), ([[-1, 0]], "got -1"), ([[2, 1]], "got 2")])
def test_a_label_that_is_neither_0_nor_1_is_reported(label: list[list[int]], got: str) -> None:
    op = K.binary_loss(np.zeros((1, 2)), np.array(label, "int32"), rubbish(1, 2), np.zeros(2), None, [1.0], 2, 1.0)
    with pytest.raises(DataError, match="label: expected 0 or 1, " + got):
        play(op)


def test_no_rows_are_no_loss() -> None:
    metrics, empty = np.ones(2), np.zeros((0, 4))
    play(K.binary_loss(empty, np.zeros((0, 4), "int32"), empty.copy(), metrics, None, [1.0], 4, 1.0))
    play(K.distance_loss(empty, empty.copy(), empty.copy(), metrics, None, 0.0, 4, 1.0))
    assert metrics.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_allocates_nothing(dtype: str) -> None:
    kernels = Kernels(np, dtype)
    x, t, y = (normal(k, 300, 50).astype(dtype) for k in range(3))
    label, owned = (normal(4, 300, 50) > 0).astype("int32"), normal(5, 300, 50) > 0
    ops = [
        kernels.binary_loss(x, label, y.copy(), np.zeros(2), owned, [2.0] * 50, 50, 1.0),
        kernels.binary_loss_gradient(y, label, np.empty_like(x), owned, [2.0] * 50, 1.0),
        kernels.distance_loss(x, t, y.copy(), np.zeros(1), owned, 0.5, 50, 1.0),
        kernels.distance_loss_gradient(y, np.empty_like(x), 1.0, 0.5, owned),
        kernels.distance_loss_gradient(y, np.empty_like(x), 1.0, 0.0, owned),
        kernels.softmax_along(x.reshape(30, 10, 50), y.reshape(30, 10, 50).copy(), 1),
        kernels.softmax_along_gradient(y.reshape(30, 10, 50), x.reshape(30, 10, 50), np.empty((30, 10, 50), dtype), 1),
    ]
    assert max(map(peak_bytes, ops)) < 4096
