"""Confusion matrix of the classes and, of two classes, histograms of the log-odds, as sums that parts can add up."""

from __future__ import annotations

from netpart.kernels.label_weights import LabelFactors
from netpart.kernels.op import Array, Op
from netpart.kernels.ranking import check_labels
from netpart.kernels.verbs import NOTHING, Verbs

BINS, PER_UNIT = 1024, 32
"""Log-odds from -16 to 16 fall into bins of width 1/32; values outside fall into the first or the last bin."""


class Confusion(Verbs):
    """x (B, n): scores, the input of a softmax; label int32 (B,); owned bool (B, 1) or None."""

    def confusion(
        self, x: Array, best: Array, label: Array, metrics: Array, owned: Array | None, ignored: int | None = None
    ) -> Op:
        """metrics += 1 at [label · n + best] for each owned row; ``best`` (B, 1) int32 are the predicted classes.

        With n = 2 there follows a histogram of x1 - x0, the log-odds of class 1, for each label: 2 · BINS more metrics.
        A NaN counts as 0. Rows with the label ``ignored`` are not counted.
        ``run`` raises DataError if a label that counts is not a class.
        """
        if not x.size:
            return NOTHING
        xp = self.xp
        (rows, classes) = x.shape
        histograms = metrics[classes * classes :].reshape(-1, BINS)
        factors = LabelFactors(self, label, None, ignored)
        counted = xp.ones(rows) if owned is None else xp.asarray(owned).reshape(rows, -1)[:, 0].astype("float64")

        def run(index: Array, odds: Array, lost: Array, ones: Array) -> None:
            factors.read()
            check_labels(factors.known, classes, ignored)
            xp.copyto(ones, counted)
            factors.omit(ones.reshape(-1, 1))
            xp.multiply(factors.known, classes, out=index, casting="unsafe")
            xp.add(index, best[:, 0], out=index)
            xp.add.at(metrics, index, ones)  # unlike metrics[index] += counted, it counts repeated indices
            if classes == 2:
                xp.subtract(x[:, 1], x[:, 0], out=odds)
                xp.isnan(odds, out=lost)  # a NaN has no defined cast to an integer
                xp.copyto(odds, 0, where=lost)
                xp.multiply(odds, PER_UNIT, out=odds)
                xp.add(odds, BINS // 2, out=odds)
                xp.floor(odds, out=odds)
                xp.clip(odds, 0, BINS - 1, out=odds)
                xp.copyto(index, odds, casting="unsafe")
                xp.add.at(histograms, (factors.known, index), ones)

        return Op(run, [((rows,), "int64"), ((rows,), self.dtype), ((rows,), bool), ((rows,), "float64")])
