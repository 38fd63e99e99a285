from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels.block_figures import count_block_figures
from netpart.kernels.loss_arguments import ClassLossArguments
from netpart.kernels.op import Array, Op, chain_ops
from tests.cuda.agreement import DTYPES, afresh, agree, complains, play
from tests.cuda.module import cupy
from tests.kernels.harness import normal, rubbish


@given(data=st.data(), classes=st.sampled_from([1, 3, 50]), topk=st.integers(1, 3), smoothing=st.sampled_from([0, 0.1]))
def test_agrees_with_the_reference(data: st.DataObject, classes: int, topk: int, smoothing: float) -> None:
    weights = data.draw(st.none() | st.just(tuple(0.5 * (c % 4) for c in range(1, classes + 1))))
    ignored = data.draw(st.sampled_from([None, 0, 255]))
    seed = data.draw(st.integers(0, 99))
    batch = data.draw(st.integers(0, 4))
    dtype = data.draw(DTYPES)
    x = np.round(normal(seed, batch, 2, classes), data.draw(st.sampled_from([0, 9])))
    label = np.random.default_rng(seed).integers(0, classes, (batch, 2), "int32")
    if ignored == 255:
        label[::2] = ignored
    owned = np.random.default_rng(seed).integers(0, 2, (batch, 2)).astype(bool)
    rule = (weights, ignored, data.draw(st.booleans()))
    cuts = data.draw(st.sets(st.integers(1, classes), max_size=3)) - {classes}
    bounds = [0, *sorted(cuts), classes]

    def both(
        kernels: Any, x: Array, label: Array, f: Array, y: Array, owned: Array, total: Array, metrics: Array
    ) -> Op:
        rest = (classes, topk, 0.7, 2, smoothing, weights, ignored, total if rule[2] else None, 9)
        blocks = kernels.class_blocks(x, label, f, bounds, topk, weights)
        loss = kernels.class_loss(ClassLossArguments(x, label, f, y, metrics, owned, *rest))
        return chain_ops(blocks, loss, kernels.class_loss(ClassLossArguments(x, label, f, y, None, None, *rest)))

    f = rubbish(batch, 2, len(bounds) - 1, count_block_figures(topk))
    metrics = np.full(3 if ignored is None else 4, 0.5)
    agree(both, x, label, f, rubbish(*x.shape), owned, np.full((1, 1), 2.5), dtype=dtype, metrics=metrics)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_part_of_the_classes_and_what_is_no_number() -> None:
    x, label = normal(1, 4, 9), np.array([20, 25, 1, 22], "int32")
    x[3, 4] = np.nan

    def both(kernels: Any, x: Array, label: Array, f: Array) -> Op:
        op: Op = kernels.class_blocks(x, label, f, [20, 24, 29], 2)
        return op

    agree(both, x, label, rubbish(4, 2, count_block_figures(2)))


def test_a_label_that_is_not_a_class_is_complained_about_and_makes_the_loss_no_number() -> None:
    xp = cupy()
    kernels = afresh()
    metrics = cupy().zeros(2)
    x = xp.asarray(normal(1, 2, 4))
    label = xp.asarray(np.array([0, 4], "int32"))
    f = xp.zeros((2, 2, count_block_figures(1)))
    blocks = kernels.class_blocks(x, label, f, [0, 2, 4], 1)
    play(
        chain_ops(
            blocks,
            kernels.class_loss(ClassLossArguments(x, label, f, xp.zeros((2, 4)), metrics, None, 4, 1, 1.0, 1, 0.0)),
        )
    )
    assert np.isnan(metrics.get()[0])
    with complains("label: expected classes 0 to 3, got 4"):
        kernels.device.complaints.check()
