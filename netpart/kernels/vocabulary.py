"""Softmax loss over classes that are cut: figures of each block of classes, and the loss from those of all blocks.

``block_figures.py`` lists the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from netpart.kernels.block_figures import EXPS, SCORE, TOP, TOTAL, BlockFigures, count_block_figures
from netpart.kernels.label_weights import LabelFactors, MeanFactor
from netpart.kernels.loss_arguments import ClassLossArguments
from netpart.kernels.metric_sums import MetricSums
from netpart.kernels.op import Array, Op
from netpart.kernels.ranking import check_labels
from netpart.kernels.verbs import NOTHING, Verbs, as_matrix


class Vocabulary(Verbs):
    """x, y (B, ..., C) with C some of n classes, label int32 (B, ...), f (B, ..., K, figures)."""

    def class_blocks(
        self, x: Array, label: Array, f: Array, bounds: Sequence[int], topk: int,
        weights: tuple[float, ...] | None = None,
    ) -> Op:  # fmt: skip
        """Overwrites f with the figures of the blocks between ``bounds``; x holds exactly their classes.

        ``weights`` are those of all classes; None: 1.
        """
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
        factors = None if weights is None else xp.asarray(weights[bounds[0] : bounds[-1]], self.dtype)

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
                if factors is not None:
                    xp.multiply(v, factors[here], out=v)
                xp.sum(v, axis=1, out=f_b[:, TOTAL])
                if factors is not None:
                    xp.subtract(f_b[:, TOP : TOP + 1], x_b, out=v)
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

        ``run`` raises DataError if a label that counts is not one of the ``classes``.
        """
        if not a.x.size:
            return NOTHING
        xp = self.xp
        rows = a.label.size
        x_rc = as_matrix(a.x, a.label.ndim)
        y_rc = as_matrix(a.y, a.label.ndim)
        factors = LabelFactors(self, a.label, a.weights, a.ignored, a.smoothing)
        mean = None if a.total is None else MeanFactor(xp, a.total, a.batch)
        blocks = BlockFigures(xp, a, factors)
        report = None if a.metrics is None else MetricSums(self, a.metrics, a.owned, rows, a.positions, factors)

        def run(
            peak: Array, norm: Array, picked: Array, exps: Array, beaten: Array, tie: Array, later: Array, count: Array,
            value: Array, total: Array,
        ) -> None:  # fmt: skip
            factors.read()
            check_labels(factors.known, a.classes, a.ignored)
            blocks.together(peak, norm, exps)
            xp.subtract(x_rc, peak, out=y_rc)
            xp.exp(y_rc, out=y_rc)
            xp.divide(y_rc, norm, out=y_rc)
            if report is None:
                return
            factors.weigh()
            blocks.score(picked)
            blocks.hits(picked, beaten, tie, later, count, value)
            report.add(1, value, total)
            blocks.surprise(picked, peak, norm, exps)
            xp.multiply(picked, a.scale, out=value)
            if mean is not None:
                xp.multiply(value, mean.read(), out=value)
            report.add(0, value, total)
            report.count(2, value, total)
            report.in_bits()

        column = (rows, 1)
        several = blocks.tops.shape
        scratch = [(column, self.dtype)] * 3 + [(several[:2], self.dtype)] + [(several, bool)] * 3
        return Op(run, [*scratch, ((rows,), "int64"), (column, "float64"), ((1,), "float64")])
