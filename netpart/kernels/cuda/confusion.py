"""Confusion matrix of the classes and, of two classes, histograms of the log-odds."""

from __future__ import annotations

from netpart.kernels import confusion
from netpart.kernels.cuda.launch import CudaVerbs
from netpart.kernels.cuda.losses import bad_label_slot, mark_owned
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, as_matrix


class Confusion(confusion.Confusion, CudaVerbs):
    """x (B, n): scores, the input of a softmax; label int32 (B,); owned bool (B, 1) or None."""

    def confusion(self, x: Array, best: Array, label: Array, metrics: Array, owned: Array | None) -> Op:
        """metrics += 1 at [label · n + best] for each owned row, and for n = 2 at the bin of its log-odds.

        A label that is not a class is recorded in the complaints of the device.
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
            bad_label_slot(self, classes),
        )
        return self.launch("confusion.cu", "confusion", rows, *args)
