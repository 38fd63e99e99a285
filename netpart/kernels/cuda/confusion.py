"""How classes are mistaken for each other, and how well scores separate two of them."""

from __future__ import annotations

from netpart.kernels import confusion
from netpart.kernels.cuda.launch import Fast
from netpart.kernels.cuda.losses import labels, marks
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, matrix


class Confusion(confusion.Confusion, Fast):
    """x (B, n) scores whose softmax are probabilities, label int32 (B,), owned bool (B, 1) or None."""

    def confusion(self, x: Array, best: Array, label: Array, metrics: Array, owned: Array | None) -> Op:
        """metrics += 1 at [label · n + best] for each owned row, and for n = 2 at the bin of its log-odds.

        A label that is not a class is a complaint of the device.
        """
        if not x.size:
            return NOTHING
        rows, classes = x.shape
        args = matrix(x), matrix(best), label, metrics, *marks(self, owned, rows), rows, classes, labels(self, classes)
        return self.launch("confusion.cu", "confusion", rows, *args)
