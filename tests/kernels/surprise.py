"""The softmax loss computed exactly: in 60 decimal digits, from the numbers that kernels get."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from netpart.kernels.block_figures import class_bounds, count_block_figures
from netpart.kernels.loss_arguments import ClassLossArguments, SoftmaxLossArguments
from netpart.kernels.op import Array, Op

LARGE = (1.0, 88.0, 1e3, 1e5, 1e10, 1e30)
"""How large scores are, about."""
ROWS = 9
CLASSES = 23
BLOCKS = 4
Play = Callable[[Op], None]


def scores(large: float, dtype: str) -> tuple[Array, Array]:
    """Scores of about a size, some of them far below others, and labels: the likeliest, the least likely, others."""
    random = np.random.default_rng(7)
    x = random.standard_normal((ROWS, CLASSES)) * random.choice([1.0, 1e-3, large], (ROWS, CLASSES)) + large
    x = x.astype(dtype)
    label = random.integers(0, CLASSES, ROWS, "int32")
    label[0], label[1] = x[0].argmax(), x[1].argmin()
    return x, label


def exact(x: Array, label: Array, smoothing: float) -> float:
    """Σ -log p over the rows, where p of the label is smoothed."""
    with localcontext() as context:
        context.prec = 60
        total, share = Decimal(0), Decimal(smoothing)
        for row, wanted in zip(x.tolist(), label.tolist(), strict=True):
            z = [Decimal(score) for score in row]
            top = max(z)
            whole = sum(((each - top).exp() for each in z), Decimal(0)).ln() + top
            total += whole - (1 - share) * z[wanted] - share * sum(z, Decimal(0)) / len(z)
        return float(total)


def whole(kernels: Any, play: Play, x: Array, label: Array, smoothing: float, topk: int = 1) -> Array:
    """Loss and hits by ``softmax_loss``."""
    xp = kernels.xp
    metrics, arrays = xp.zeros(2), (xp.asarray(x), xp.asarray(label), xp.asarray(np.full_like(x, 77)))
    play(kernels.softmax_loss(SoftmaxLossArguments(*arrays, metrics, None, topk, 1.0, 1, smoothing)))
    return metrics


def cut(kernels: Any, play: Play, x: Array, label: Array, smoothing: float, topk: int = 1) -> Array:
    """The same by ``class_blocks`` and ``class_loss``."""
    xp = kernels.xp
    metrics = xp.zeros(2)
    x = xp.asarray(x)
    label = xp.asarray(label)
    f = xp.asarray(np.full((ROWS, BLOCKS, count_block_figures(topk)), 77, x.dtype))
    play(kernels.class_blocks(x, label, f, class_bounds(CLASSES, BLOCKS), topk))
    play(
        kernels.class_loss(
            ClassLossArguments(x, label, f, xp.zeros_like(x), metrics, None, CLASSES, topk, 1.0, 1, smoothing)
        )
    )
    return metrics


def check(metrics: Array, x: Array, label: Array, smoothing: float) -> None:
    """The loss is exact to rounding of the scores' differences, and of 1."""
    expected, eps = exact(x, label, smoothing), float(np.finfo(x.dtype).eps)
    assert abs(float(metrics[0]) - expected) <= 8 * eps * max(expected, float(len(x)))
