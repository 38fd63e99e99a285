"""Confusion matrix of the classes and, of two classes, histograms of the log-odds."""

from __future__ import annotations

from netpart.kernels import confusion
from netpart.kernels.cuda.launch import CudaVerbs
from netpart.kernels.cuda.losses import bad_label_slot, ignored_mark, mark_owned
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, as_matrix


class Confusion(confusion.Confusion, CudaVerbs):
    """x (B, n): scores, the input of a softmax; label int32 (B,); owned bool (B, 1) or None."""

    def confusion(
        self, x: Array, best: Array, label: Array, metrics: Array, owned: Array | None, ignored: int | None = None
    ) -> Op:
        """metrics += 1 at [label · n + best] for each owned row, and for n = 2 at the bin of its log-odds.

        Rows with the label ``ignored`` are not counted. Another label that is not a class is recorded in the complaints
        of the device.
        """
        if not x.size:
            return NOTHING
        rows, classes = x.shape
        args = (
            as_matrix(x),
            as_matrix(best),
            label,
            metrics,
            *mark_owned(self, owned, rows),
            rows,
            classes,
            *ignored_mark(ignored),
            bad_label_slot(self, classes, ignored),
        )
        return self.launch("confusion.cu", "confusion", rows, *args)
