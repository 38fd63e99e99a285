"""Figures of blocks of classes: ties, classes that are missing, what is no number, and no memory of their own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.errors import DataError
from netpart.kernels.block_figures import count_block_figures
from netpart.kernels.loss_arguments import ClassLossArguments, SoftmaxLossArguments
from netpart.kernels.op import Array
from netpart.kernels.reference import Kernels
from tests.kernels.harness import K, normal, peak_bytes, play, rubbish


def metrics_of(x: Array, label: Array, bounds: list[int], topk: int) -> Array:
    """Loss and hits of all rows, from the blocks between ``bounds``."""
    f, metrics = rubbish(len(x), len(bounds) - 1, count_block_figures(topk)), np.zeros(2)
    play(K.class_blocks(x, label, f, bounds, topk))
    play(K.class_loss(ClassLossArguments(x, label, f, rubbish(*x.shape), metrics, None, x.shape[1], topk, 1.0, 1, 0.0)))
    return metrics


@given(data=st.data(), classes=st.integers(1, 7), topk=st.integers(1, 4))
def test_hits_are_those_of_all_classes_also_where_scores_are_equal(
    data: st.DataObject, classes: int, topk: int
) -> None:
    scores = data.draw(st.lists(st.integers(-1, 1), min_size=3 * classes, max_size=3 * classes))
    x, metrics = np.array(scores, float).reshape(3, classes), np.zeros(2)
    label = np.array(data.draw(st.lists(st.integers(0, classes - 1), min_size=3, max_size=3)), "int32")
    inner = sorted(data.draw(st.sets(st.integers(1, classes), max_size=3)) - {classes})
    play(K.softmax_loss(SoftmaxLossArguments(x, label, rubbish(*x.shape), metrics, None, min(topk, classes), 1.0)))
    assert np.allclose(metrics_of(x, label, [0, *inner, classes], min(topk, classes)), metrics)


def test_a_diverged_net_hits_nothing() -> None:
    loss, hits = metrics_of(np.full((3, 4), np.nan), np.zeros(3, "int32"), [0, 2, 4], 1)
    assert np.isnan(loss)
    assert hits == 0


def test_a_label_that_is_no_class_is_a_data_error() -> None:
    with pytest.raises(DataError, match="expected classes 0 to 3, got 4"):
        metrics_of(np.zeros((2, 4)), np.array([0, 4], "int32"), [0, 2, 4], 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_allocates_nothing(dtype: str) -> None:
    kernels = Kernels(np, dtype)
    x = normal(1, 300, 60).astype(dtype)
    label = np.arange(300, dtype="int32") % 60
    f, bounds = np.zeros((300, 6, count_block_figures(2)), dtype), list(range(0, 61, 10))
    ops = [
        kernels.class_blocks(x, label, f, bounds, 2),
        kernels.class_loss(ClassLossArguments(x, label, f, np.empty_like(x), np.zeros(2), None, 60, 2, 1.0, 1, 0.1)),
    ]
    assert max(map(peak_bytes, ops)) < 4096
