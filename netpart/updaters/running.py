"""Running statistics: they follow the mini-batches instead of a gradient, whatever the job's updater is."""

from __future__ import annotations

from typing import Any

from netpart.kernels.op import Array, Op


def follow_mean(xp: Any, w: Array, g: Array, keep: float) -> Op:
    """w <- w + (1 - keep) g, where g is the mean of the mini-batch less w: w <- keep w + (1 - keep) mean."""

    def run(step: Array) -> None:
        xp.multiply(g, 1 - keep, out=step)
        xp.add(w, step, out=w)

    return Op(run, [(w.shape, w.dtype)])


def follow_variance(xp: Any, w: Array, g: Array, centre: Array, keep: float, count: int) -> Op:
    """w <- keep w + (1 - keep) variance, where g and ``centre`` are the second and first moment of the mini-batch.

    The variance is the unbiased one of ``count`` elements, as in cuDNN and PyTorch (of one element: 0).
    """
    unbiased = (1 - keep) * count / max(1, count - 1)

    def run(step: Array) -> None:
        xp.multiply(centre, centre, out=step)
        xp.subtract(g, step, out=step)
        xp.maximum(step, 0, out=step)
        xp.multiply(step, unbiased, out=step)
        xp.multiply(w, keep, out=w)
        xp.add(w, step, out=w)

    return Op(run, [(w.shape, w.dtype)])
