"""Softmax loss over classes that are cut: figures of each block of classes, and the loss from those of all blocks.

Figures of a block, for every row: Σ exp(x - max) | Σ (max - x) | x of the label, if it is in the block, else 0 | topk
largest x, in descending order | and their classes. So f is (rows, blocks, 3 + 2·topk). A block with fewer classes than
topk fills the rest with the lowest finite number. Class numbers are exact up to 2**24 in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from netpart.kernels.arguments import ClassLossArguments
from netpart.kernels.metric_sums import MetricSums
from netpart.kernels.op import Array, Op
from netpart.kernels.ranking import check_labels
from netpart.kernels.verbs import NOTHING, Verbs, as_matrix

EXPS, TOTAL, SCORE, TOP = range(4)


def count_block_figures(topk: int) -> int:
    """The number of figures of a block."""
    return TOP + 2 * topk


def class_bounds(classes: int, blocks: int) -> list[int]:
    """The first class of each of ``blocks`` equal blocks, and the end of the last one."""
    return [k * classes // blocks for k in range(blocks + 1)]


class Vocabulary(Verbs):
    """x, y (B, ..., C) with C some of n classes, label int32 (B, ...), f (B, ..., K, figures)."""

    def class_blocks(self, x: Array, label: Array, f: Array, bounds: Sequence[int], topk: int) -> Op:
        """Overwrites f with the figures of the blocks between ``bounds``; x holds exactly their classes."""
        if not f.size:
            return NOTHING
        xp = self.xp
        x_rc = as_matrix(x, label.ndim)
        labels = label.reshape(-1, 1)
        f_rkf = f.reshape(len(x_rc), -1, count_block_figures(topk))
        lowest = float(xp.finfo(self.dtype).min)
        blocks = [slice(lo - bounds[0], hi - bounds[0]) for lo, hi in pairwise(bounds)]
        numbers = xp.arange(bounds[0], bounds[-1], dtype="int32")
        most = max(b.stop - b.start for b in blocks)

        def run(values: Array, marks: Array, best: Array) -> None:
            for k, here in enumerate(blocks):
                x_b = x_rc[:, here]
                f_b = f_rkf[:, k]
                width = here.stop - here.start
                v = values[:, :width]
                mark = marks[:, :width]
                classes = numbers[here]
                xp.copyto(v, x_b)
                for t in range(topk):
                    xp.max(v, axis=1, out=f_b[:, TOP + t])
                    xp.argmax(v, axis=1, out=best)
                    xp.add(best, int(bounds[k]), out=best)
                    xp.copyto(f_b[:, TOP + topk + t], best)
                    xp.equal(classes, best.reshape(-1, 1), out=mark)
                    xp.copyto(v, lowest, where=mark)  # excluded from the next maximum
                xp.subtract(f_b[:, TOP : TOP + 1], x_b, out=v)
                xp.sum(v, axis=1, out=f_b[:, TOTAL])
                xp.negative(v, out=v)
                xp.exp(v, out=v)
                xp.sum(v, axis=1, out=f_b[:, EXPS])
                xp.equal(classes, labels, out=mark)
                v.fill(0)
                xp.copyto(v, x_b, where=mark)
                xp.sum(v, axis=1, out=f_b[:, SCORE])

        shape = len(x_rc), most
        return Op(run, [(shape, self.dtype), (shape, bool), ((len(x_rc),), "int64")])

    def class_loss(self, a: ClassLossArguments) -> Op:
        """y = the probabilities of these classes; metrics, unless None, as in ``softmax_loss``.

        ``run`` raises DataError if a label is not one of the ``classes``.
        """
        if not a.x.size:
            return NOTHING
        xp = self.xp
        rows = a.label.size
        shape = (a.label.size, -1, count_block_figures(a.topk))
        x_rc = as_matrix(a.x, a.label.ndim)
        y_rc = as_matrix(a.y, a.label.ndim)
        blocks = _BlockFigures(xp, a.f.reshape(shape), a.label, a.topk, a.classes)
        report = None if a.metrics is None else MetricSums(self, a.metrics, a.owned, rows, a.positions)

        def run(
            peak: Array, norm: Array, picked: Array, exps: Array, beaten: Array, tie: Array, later: Array, count: Array,
            value: Array, total: Array,
        ) -> None:  # fmt: skip
            check_labels(a.label, a.classes)
            blocks.together(peak, norm, exps)
            xp.subtract(x_rc, peak, out=y_rc)
            xp.exp(y_rc, out=y_rc)
            xp.divide(y_rc, norm, out=y_rc)
            if report is None:
                return
            blocks.score(picked)
            blocks.hits(picked, beaten, tie, later, count, value)
            report.add(1, value, total)
            blocks.surprise(picked, peak, norm, exps, a.smoothing, a.classes)
            xp.multiply(picked, a.scale, out=value)
            report.add(0, value, total)
            report.in_bits()

        column = (rows, 1)
        several = blocks.tops.shape
        scratch = [(column, self.dtype)] * 3 + [(several[:2], self.dtype)] + [(several, bool)] * 3
        return Op(run, [*scratch, ((rows,), "int64"), (column, "float64"), ((1,), "float64")])


class _BlockFigures:
    """The figures ``f_rkf`` (rows, blocks, figures) of all blocks; columns are (rows, 1)."""

    def __init__(self, xp: Any, f_rkf: Array, label: Array, topk: int, classes: int) -> None:
        self.xp = xp
        self.topk = topk
        self.labels = label.reshape(-1, 1, 1)
        self.exps, self.totals, self.scores, self.peaks = (f_rkf[:, :, i] for i in (EXPS, TOTAL, SCORE, TOP))
        bounds = class_bounds(classes, f_rkf.shape[1])
        self.widths = xp.asarray([hi - lo for lo, hi in pairwise(bounds)], f_rkf.dtype)
        self.tops = f_rkf[:, :, TOP : TOP + topk]
        self.numbers = f_rkf[:, :, TOP + topk :]

    def together(self, peak: Array, norm: Array, exps: Array) -> None:
        """Writes the largest x of each row to ``peak`` and Σ exp(x - peak) to ``norm``."""
        xp = self.xp
        xp.max(self.peaks, axis=1, keepdims=True, out=peak)
        xp.subtract(self.peaks, peak, out=exps)
        xp.exp(exps, out=exps)
        xp.multiply(exps, self.exps, out=exps)
        xp.sum(exps, axis=1, keepdims=True, out=norm)

    def score(self, picked: Array) -> None:
        """Writes x of the label to ``picked``."""
        self.xp.sum(self.scores, axis=1, keepdims=True, out=picked)

    def hits(self, picked: Array, beaten: Array, tie: Array, later: Array, count: Array, value: Array) -> None:
        """Writes 1 to ``value`` if fewer than topk candidates rank above the label, else 0; a NaN ranks below all."""
        xp = self.xp
        score = picked[:, :, None]
        xp.less(self.tops, score, out=beaten)
        xp.equal(self.tops, score, out=tie)
        xp.greater_equal(self.numbers, self.labels, out=later)
        xp.logical_and(tie, later, out=tie)
        xp.logical_or(beaten, tie, out=beaten)
        xp.sum(beaten, axis=(1, 2), out=count)
        xp.copyto(value, count.reshape(-1, 1))
        xp.subtract(value, beaten[0].size - self.topk, out=value)
        xp.clip(value, 0, 1, out=value)

    def surprise(self, picked: Array, peak: Array, norm: Array, below: Array, smoothing: float, classes: int) -> None:
        """Turns x of the label, in ``picked``, into minus the logarithm of its probability; overwrites the others."""
        xp = self.xp
        xp.subtract(peak, picked, out=picked)
        if smoothing:
            self.smooth(picked, peak, below, smoothing, classes)
        xp.log(norm, out=norm)
        xp.add(picked, norm, out=picked)

    def smooth(self, picked: Array, peak: Array, below: Array, smoothing: float, classes: int) -> None:
        """Mixes the mean of peak - x over all classes into ``picked``, which holds peak - x of the label."""
        xp = self.xp
        # Σ (peak - x) of a block is its Σ (max - x) plus (peak - max) for each of its classes.
        xp.subtract(peak, self.peaks, out=below)
        xp.multiply(below, self.widths, out=below)
        xp.add(below, self.totals, out=below)
        xp.sum(below, axis=1, keepdims=True, out=peak)
        xp.multiply(peak, smoothing / classes, out=peak)
        xp.multiply(picked, 1 - smoothing, out=picked)
        xp.add(picked, peak, out=picked)
