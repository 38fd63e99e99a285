"""The sum of the weights of labels: a single block adds them up."""

from __future__ import annotations

import numpy as np

from netpart.kernels import label_weights
from netpart.kernels.cuda.launch import CudaVerbs
from netpart.kernels.cuda.losses import ALONE, bad_label_slot, ignored_mark
from netpart.kernels.op import Array, Op


class LabelWeights(label_weights.LabelWeights, CudaVerbs):
    """label int32 (B, ...); weights: a factor per class, or None for 1; ignored: the label that counts for nothing.

    A label that is not a class is recorded in the complaints of the device, and counts for nothing.
    """

    def label_weights(
        self, label: Array, total: Array, classes: int, weights: tuple[float, ...] | None, ignored: int | None
    ) -> Op:
        """total (1, 1) = the sum of the weights of all labels that count."""
        if not label.size:
            return super().label_weights(label, total, classes, weights, ignored)
        factors = None if weights is None else self.xp.asarray(np.array(weights, self.dtype))
        args = label, factors, total, label.size, classes, *ignored_mark(ignored)
        block = min(ALONE, -(-label.size // 32) * 32)
        wrong = bad_label_slot(self, classes, ignored)
        return self.launch("losses.cu", "label_weights", label.size, *args, wrong, block=block, grid=1)
