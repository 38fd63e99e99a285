from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.errors import NetpartError
from netpart.kernels.loss_arguments import SoftmaxLossArguments, SoftmaxLossGradientArguments
from netpart.kernels.op import Array
from netpart.kernels.reference import Kernels
from tests.kernels import onednn_kernels as onednn
from tests.kernels import surprise
from tests.kernels.harness import K, close, derivative, normal, peak_bytes, play, rubbish

Case = tuple[Array, Array, Array | None, int]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    batch, classes = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    scores = draw(st.lists(st.integers(-2, 2), min_size=batch * classes, max_size=batch * classes))
    label = draw(st.lists(st.integers(0, classes - 1), min_size=batch, max_size=batch))
    owned = draw(st.none() | st.lists(st.booleans(), min_size=batch, max_size=batch))
    x = np.array(scores, "float64").reshape(batch, classes)
    return x, np.array(label, "int32"), None if owned is None else np.array(owned), draw(st.integers(1, 5))


def owns(owned: Array | None, row: int) -> bool:
    return owned is None or bool(owned[row])


def hits(x: Array, label: Array, owned: Array | None, topk: int) -> int:
    """Ranks by falling score, equal scores by rising class."""
    ranked = [sorted(range(x.shape[1]), key=lambda j: (-x[i, j], j)) for i in range(len(x))]
    return sum(owns(owned, i) and int(label[i]) in ranked[i][:topk] for i in range(len(x)))


@settings(max_examples=150, deadline=None)
@given(cases())
def test_softmax_loss_and_accuracy(case: Case) -> None:
    x, label, owned, topk = case
    y = rubbish(*x.shape)
    metrics = np.array([1.0, 2.0])
    counted = np.array([3.0])
    play(K.softmax_loss(SoftmaxLossArguments(x, label, y, metrics, owned, topk, 0.5)))
    play(K.accuracy(x, label, counted, topk, owned))
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    loss = sum(-log(p[i, label[i]]) * 0.5 for i in range(len(x)) if owns(owned, i))
    close(y, p)
    close(metrics, np.array([1 + loss, 2 + hits(x, label, owned, topk)]))
    assert counted[0] == 3 + hits(x, label, owned, topk)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_largest_ranks_by_falling_score_and_rising_class(case: Case) -> None:
    x, _, _, topk = case
    y = rubbish(len(x), min(topk, x.shape[1]), dtype="int32")
    play(K.largest(x, y))
    for got, row in zip(y.tolist(), x.tolist(), strict=True):
        ranked = sorted((-score, j) for j, score in enumerate(row))
        assert got == [j for _, j in ranked[:topk]]


@settings(max_examples=60, deadline=None)
@given(cases())
def test_softmax_loss_gradient(case: Case) -> None:
    x, label, owned, topk = case
    y = rubbish(*x.shape)
    dx = rubbish(*x.shape)
    metrics = np.zeros(2)
    op = K.softmax_loss(SoftmaxLossArguments(x, label, y, metrics, owned, topk, 3.0))

    def loss() -> float:
        metrics[:] = 0
        play(op)
        return float(metrics[0])

    slope = derivative(loss, x)
    play(op)
    play(K.softmax_loss_gradient(SoftmaxLossGradientArguments(y, label, dx, owned, 3.0)))
    close(dx, slope, 1e-8)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_euclidean_loss_and_its_gradient(case: Case) -> None:
    x, _, owned, _ = case
    t = normal(5, *x.shape, 1)
    y = rubbish(*x.shape)
    dx = rubbish(*x.shape)
    metrics = np.zeros(1)
    op = K.euclidean_loss(x, t, y, metrics, owned)

    def loss() -> float:
        metrics[:] = 0
        play(op)
        return float(metrics[0])

    wanted = sum(float(((x[i] - t[i, :, 0]) ** 2).sum()) for i in range(len(x)) if owns(owned, i))
    close(loss(), wanted)
    slope = derivative(loss, x)
    play(op)
    play(K.euclidean_loss_gradient(y, dx, 2.0, owned))
    close(y, x - t[..., 0])
    close(dx, slope, 1e-8)


@pytest.mark.parametrize(("label", "got"), [([0, 3], "got 3"), ([-1, 0], "got -1")])
def test_a_label_that_is_no_class_is_reported(label: list[int], got: str) -> None:
    x, labels = np.zeros((2, 3)), np.array(label, "int32")
    for op in (
        K.softmax_loss(SoftmaxLossArguments(x, labels, np.zeros((2, 3)), np.zeros(2), None, 1, 1.0)),
        K.accuracy(x, labels, np.zeros(1), 1, None),
    ):
        with pytest.raises(NetpartError, match="classes 0 to 2, " + got):
            play(op)


@pytest.mark.parametrize("topk", [1, 3])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("large", surprise.LARGE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_loss_is_exact_however_large_scores_are(dtype: str, large: float, smoothing: float, topk: int) -> None:
    """Also where the probability of the label has long become 0, whole and in blocks of classes alike."""
    x, label = surprise.scores(large, dtype)
    found = [each(Kernels(np, dtype), play, x, label, smoothing, topk) for each in (surprise.whole, surprise.cut)]
    for metrics in found:
        surprise.check(metrics, x, label, smoothing)
    assert found[0][1] == found[1][1] == hits(x, label, None, topk)


@onednn.needed
@pytest.mark.parametrize("large", surprise.LARGE)
def test_the_loss_is_exact_by_onednn(large: float) -> None:
    x, label = surprise.scores(large, "float32")
    surprise.check(surprise.whole(onednn.fast(), play, x, label, 0.1), x, label, 0.1)


def test_a_diverged_net_hits_nothing() -> None:
    metrics = np.zeros(2)
    play(
        K.softmax_loss(
            SoftmaxLossArguments(np.full((3, 4), np.nan), np.zeros(3, "int32"), np.zeros((3, 4)), metrics, None, 1, 1.0)
        )
    )
    assert np.isnan(metrics[0])
    assert metrics[1] == 0


def test_no_rows_are_no_loss() -> None:
    metrics, empty = np.ones(2), np.zeros((0, 4))
    play(K.softmax_loss(SoftmaxLossArguments(empty, np.zeros(0, "int32"), empty.copy(), metrics, None, 1, 1.0)))
    play(K.euclidean_loss(empty, empty.copy(), empty.copy(), metrics, None))
    assert metrics.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_allocates_nothing(dtype: str) -> None:
    kernels = Kernels(np, dtype)
    x = normal(1, 300, 50).astype(dtype)
    y = normal(2, 300, 50).astype(dtype)
    label, owned = np.arange(300, dtype="int32") % 50, np.arange(300) < 100
    rule = (0.5,) * 50, 7, np.ones((1, 1), dtype), 300
    ops = [
        kernels.softmax_loss(SoftmaxLossArguments(x, label, y.copy(), np.zeros(2), owned, 5, 1.0)),
        kernels.softmax_loss_gradient(SoftmaxLossGradientArguments(y, label, np.empty_like(x), owned, 1.0)),
        kernels.softmax_loss(SoftmaxLossArguments(x, label, y.copy(), np.zeros(3), owned, 5, 1.0, 1, 0.1, *rule)),
        kernels.softmax_loss_gradient(
            SoftmaxLossGradientArguments(y, label, np.empty_like(x), owned, 1.0, 0.1, None, *rule)
        ),
        kernels.label_weights(label, rule[2], 50, rule[0], rule[1]),
        kernels.euclidean_loss(x, y, np.empty_like(x), np.zeros(1), owned),
        kernels.euclidean_loss_gradient(y, np.empty_like(x), 1.0, owned),
        kernels.accuracy(x, label, np.zeros(1), 5, owned),
        kernels.largest(x, np.empty((300, 5), "int32")),
    ]
    assert max(map(peak_bytes, ops)) < 4096


def test_the_loss_in_bits_is_a_third_metric() -> None:
    x = normal(5, 3, 4)
    label = np.array([0, 3, 1], "int32")
    metrics = np.array([1.0, 0.0, 7.0])
    op = K.softmax_loss(SoftmaxLossArguments(x, label, rubbish(3, 4), metrics, None, 1, 2.0))
    for _ in range(2):
        play(op)
        assert metrics[2] == pytest.approx(metrics[0] / np.log(2))
    assert metrics[0] > 2
