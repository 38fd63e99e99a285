from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels.loss_arguments import SoftmaxLossArguments, SoftmaxLossGradientArguments
from netpart.kernels.op import Array, Op, chain_ops
from tests.cuda.agreement import DTYPES, afresh, agree, complains, fast, play
from tests.cuda.module import cupy
from tests.kernels import surprise
from tests.kernels.harness import normal, rubbish


@st.composite
def rows(draw: st.DrawFn) -> tuple[Array, Array, Array | None]:
    """Scores with ties (B, T, n), labels (B, T), and who owns which row."""
    batch, positions = draw(st.integers(0, 5)), draw(st.integers(1, 3))
    classes = draw(st.sampled_from([1, 2, 5, 40, 300]))
    seed, tied = draw(st.integers(0, 99)), draw(st.booleans())
    x = np.round(normal(seed, batch, positions, classes), 0 if tied else 9)
    label = np.random.default_rng(seed).integers(0, classes, (batch, positions), "int32")
    owned = np.array(draw(st.lists(st.booleans(), min_size=batch * positions, max_size=batch * positions)))
    return x, label, owned.reshape(batch, positions) if draw(st.booleans()) else None


def drawn_weights(classes: int, chosen: bool) -> tuple[float, ...] | None:
    """A weight per class, some of them 0, or none."""
    return tuple(0.5 * (c % 4) for c in range(1, classes + 1)) if chosen else None


@given(rows(), st.booleans(), st.sampled_from([None, 0, 2, 255]), st.sampled_from([0.0, 0.1]), st.booleans(), DTYPES)
def test_weights_ignored_labels_and_the_mean_by_weights(
    given_: tuple[Array, Array, Array | None], weighed: bool, ignored: int | None, smoothing: float, mean: bool,
    dtype: str,
) -> None:  # fmt: skip
    x, label, owned = given_
    weights = drawn_weights(x.shape[-1], weighed)
    if ignored == 255:
        label[::2] = ignored

    def both(
        kernels: Any, x: Array, label: Array, owned: Array | None, y: Array, dx: Array, total: Array, metrics: Array
    ) -> Op:
        rule = (weights, ignored, total if mean else None, 12)
        loss = kernels.softmax_loss(SoftmaxLossArguments(x, label, y, metrics, owned, 1, 0.7, 3, smoothing, *rule))
        slope = SoftmaxLossGradientArguments(y, label, dx, owned, 1.3, smoothing, None, *rule)
        sums = kernels.label_weights(label, total, x.shape[-1], weights, ignored)
        return chain_ops(sums, loss, kernels.softmax_loss_gradient(slope))

    y, dx = rubbish(*x.shape), rubbish(*x.shape)
    metrics = np.arange(3 if ignored is None else 4) + 0.5
    agree(both, x, label, owned, y, dx, rubbish(1, 1), dtype=dtype, metrics=metrics)


@given(rows(), st.booleans(), DTYPES)
def test_the_weighted_gradient_of_some_of_the_classes(
    given_: tuple[Array, Array, Array | None], weighed: bool, dtype: str
) -> None:
    y, label, owned = given_
    rule = (drawn_weights(400, weighed), 2)

    def both(kernels: Any, y: Array, label: Array, owned: Array | None, dx: Array) -> Op:
        slope = SoftmaxLossGradientArguments(y, label, dx, owned, 1.3, 0.2, (2, 400), *rule)
        op: Op = kernels.softmax_loss_gradient(slope)
        return op

    agree(both, y, label, owned, rubbish(*y.shape), dtype=dtype)


@given(rows(), st.sampled_from([0, 255]), DTYPES)
def test_accuracy_of_the_labels_that_count(given_: tuple[Array, Array, Array | None], ignored: int, dtype: str) -> None:
    x, label, owned = given_
    if ignored == 255:
        label[::2] = ignored

    def both(kernels: Any, x: Array, label: Array, owned: Array | None, metrics: Array) -> Op:
        op: Op = kernels.accuracy(x, label, metrics, 1, owned, 2, ignored)
        return op

    agree(both, x, label, owned, dtype=dtype, metrics=np.array([0.5, 0.5]))


@given(rows(), st.integers(1, 3), st.sampled_from([0.0, 0.1]), st.integers(2, 3), DTYPES)
def test_softmax_loss(
    given_: tuple[Array, Array, Array | None], topk: int, smoothing: float, figures: int, dtype: str
) -> None:
    x, label, owned = given_

    def both(kernels: Any, x: Array, label: Array, owned: Array | None, y: Array, dx: Array, metrics: Array) -> Op:
        loss = kernels.softmax_loss(
            SoftmaxLossArguments(x, label, y, metrics, owned, min(topk, x.shape[-1]), 0.7, 3, smoothing)
        )
        return chain_ops(
            loss, kernels.softmax_loss_gradient(SoftmaxLossGradientArguments(y, label, dx, owned, 1.3, smoothing))
        )

    y, dx = rubbish(*x.shape), rubbish(*x.shape)
    agree(both, x, label, owned, y, dx, dtype=dtype, metrics=np.arange(figures) + 0.5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("large", surprise.LARGE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_loss_is_exact_however_large_scores_are(dtype: str, large: float, smoothing: float) -> None:
    x, label = surprise.scores(large, dtype)
    for each in (surprise.whole, surprise.cut):
        surprise.check(each(fast(dtype), play, x, label, smoothing).get(), x, label, smoothing)


@given(rows(), DTYPES)
def test_the_gradient_of_some_of_the_classes(given_: tuple[Array, Array, Array | None], dtype: str) -> None:
    y, label, owned = given_

    def both(kernels: Any, y: Array, label: Array, owned: Array | None, dx: Array) -> Op:
        op: Op = kernels.softmax_loss_gradient(SoftmaxLossGradientArguments(y, label, dx, owned, 1.3, 0.2, (2, 400)))
        return op

    agree(both, y, label, owned, rubbish(*y.shape), dtype=dtype)


@given(rows(), st.booleans(), DTYPES)
def test_euclidean_loss(given_: tuple[Array, Array, Array | None], each: bool, dtype: str) -> None:
    x, _, owned = given_
    t, mine = normal(7, *x.shape), owned
    if owned is not None:
        mine = np.broadcast_to(owned[:, :1, None], x.shape) if each else owned[:, :1]

    def both(kernels: Any, x: Array, t: Array, owned: Array | None, y: Array, dx: Array, metrics: Array) -> Op:
        loss = kernels.euclidean_loss(x, t, y, metrics, owned)
        return chain_ops(loss, kernels.euclidean_loss_gradient(y, dx, 1.3, owned))

    y, dx = rubbish(*x.shape), rubbish(*x.shape)
    agree(both, x, t, mine, y, dx, dtype=dtype, metrics=np.array([0.5]))


@given(rows(), st.integers(1, 4), DTYPES)
def test_accuracy_and_the_largest(given_: tuple[Array, Array, Array | None], topk: int, dtype: str) -> None:
    x, label, owned = given_
    best = np.full((*label.shape, min(topk, x.shape[-1])), 77, "int32")

    def both(kernels: Any, x: Array, label: Array, owned: Array | None, best: Array, metrics: Array) -> Op:
        count = kernels.accuracy(x, label, metrics, best.shape[-1], owned, 2)
        return chain_ops(count, kernels.largest(x, best))

    agree(both, x, label, owned, best, dtype=dtype, metrics=np.array([0.5]))


@pytest.mark.parametrize("topk", [1, 2])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_is_no_number(topk: int) -> None:
    x, label = normal(1, 3, 40), np.array([3, 4, 5], "int32")
    x[0, 3], x[1, 7] = np.nan, np.nan

    def both(kernels: Any, x: Array, label: Array, y: Array, metrics: Array, hits: Array, best: Array) -> Op:
        loss = kernels.softmax_loss(SoftmaxLossArguments(x, label, y, metrics, None, topk, 1.0))
        return chain_ops(loss, kernels.accuracy(x, label, hits, topk, None), kernels.largest(x, best))

    agree(both, x, label, rubbish(3, 40), np.zeros(2), np.zeros(1), np.zeros((3, topk), "int32"))


@pytest.mark.parametrize("wrong", [-1, 40])
def test_a_label_that_is_not_a_class_is_complained_about_and_makes_metrics_no_number(wrong: int) -> None:
    xp, kernels = cupy(), afresh()
    x, label = xp.asarray(normal(1, 3, 40)), xp.asarray(np.array([3, wrong, 5], "int32"))
    loss = xp.zeros(2)
    hits = xp.zeros(1)
    y = xp.zeros((3, 40))
    play(
        chain_ops(
            kernels.softmax_loss(SoftmaxLossArguments(x, label, y, loss, None, 1, 1.0)),
            kernels.accuracy(x, label, hits, 1, None),
        )
    )
    assert np.isnan(loss.get()[0])
    assert np.isnan(hits.get()[0])
    with complains(f"label: expected classes 0 to 39, got {wrong}"):
        kernels.device.complaints.check()
