from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels.op import Array, Op, chain_ops
from tests.cuda.agreement import DTYPES, afresh, agree, complains, play
from tests.cuda.module import cupy
from tests.kernels.harness import normal, rubbish

Given = tuple[Array, Array, Array, Array | None]


@st.composite
def rows(draw: st.DrawFn) -> Given:
    """Numbers (B, C, I), others, labels of 0 and 1, and who owns which element or row."""
    shape = draw(st.integers(0, 4)), draw(st.integers(1, 3)), draw(st.sampled_from([1, 7, 33, 300]))
    seed, marks = draw(st.integers(0, 99)), draw(st.sampled_from(["none", "rows", "elements"]))
    rng = np.random.default_rng(seed)
    owned = {"none": None, "rows": rng.random((shape[0], 1, 1)) < 0.5, "elements": rng.random(shape) < 0.5}
    return normal(seed, *shape) * 3, normal(seed + 1, *shape), rng.integers(0, 2, shape, "int32"), owned[marks]


@given(rows(), st.sampled_from([0.0, 0.5]), DTYPES)
def test_distance_losses(given_: Given, delta: float, dtype: str) -> None:
    x, t, _, owned = given_

    def both(kernels: Any, x: Array, t: Array, owned: Array | None, y: Array, dx: Array, metrics: Array) -> Op:
        loss = kernels.distance_loss(x, t, y, metrics, owned, delta, 9, 0.7)
        return chain_ops(loss, kernels.distance_loss_gradient(y, dx, 1.3, delta, owned))

    agree(both, x, t, owned, rubbish(*x.shape), rubbish(*x.shape), dtype=dtype, metrics=np.array([0.5]))


@given(rows(), DTYPES)
def test_binary_loss(given_: Given, dtype: str) -> None:
    x, _, label, owned = given_
    weights = [0.5 + k for k in range(x.shape[1])]

    def both(kernels: Any, x: Array, label: Array, owned: Array | None, y: Array, dx: Array, metrics: Array) -> Op:
        loss = kernels.binary_loss(x, label, y, metrics, owned, weights, 9, 0.7)
        return chain_ops(loss, kernels.binary_loss_gradient(y, label, dx, owned, weights, 1.3))

    agree(both, x, label, owned, rubbish(*x.shape), rubbish(*x.shape), dtype=dtype, metrics=np.array([0.5, 2]))


@pytest.mark.filterwarnings("ignore:invalid value")
def test_large_numbers_and_what_is_no_number() -> None:
    x = np.array([[1e4, -1e4, 0.0], [1e30, -1e30, 3.0], [np.nan, 1.0, 2.0]])
    label = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], "int32")

    def both(kernels: Any, x: Array, label: Array, y: Array, dx: Array, metrics: Array) -> Op:
        loss = kernels.binary_loss(x, label, y, metrics, None, [1.0], 3, 1.0)
        return chain_ops(loss, kernels.binary_loss_gradient(y, label, dx, None, [1.0], 1.0))

    for take in (slice(0, 2), slice(0, 3)):
        part = x[take], label[take], rubbish(*x[take].shape), rubbish(*x[take].shape)
        agree(both, *part, metrics=np.zeros(2))


@pytest.mark.parametrize("wrong", [-1, 2])
def test_a_label_that_is_neither_0_nor_1_is_complained_about_and_makes_metrics_no_number(wrong: int) -> None:
    xp, kernels = cupy(), afresh()
    metrics = xp.zeros(2)
    label = xp.asarray(np.array([[0, wrong]], "int32"))
    play(kernels.binary_loss(xp.zeros((1, 2)), label, xp.zeros((1, 2)), metrics, None, [1.0], 2, 1.0))
    assert np.isnan(metrics.get()).all()
    with complains(f"label: expected 0 or 1, got {wrong}"):
        kernels.device.complaints.check()
