"""Softmax loss over classes that are cut: a block of threads for each row and block of classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netpart.kernels import vocabulary
from netpart.kernels.block_figures import count_block_figures
from netpart.kernels.cuda.launch import MOST, LaunchScratch
from netpart.kernels.cuda.losses import add_to_metrics, bad_label_slot, label_rule
from netpart.kernels.cuda.row_kernels import RowVerbs, row_threads
from netpart.kernels.loss_arguments import ClassLossArguments
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, as_matrix


class Vocabulary(vocabulary.Vocabulary, RowVerbs):
    """x, y (B, ..., C) with C some of n classes, label int32 (B, ...), f (B, ..., K, figures).

    A label that is not a class is recorded in the complaints of the device, and makes the loss NaN.
    """

    def class_blocks(
        self, x: Array, label: Array, f: Array, bounds: Sequence[int], topk: int,
        weights: tuple[float, ...] | None = None,
    ) -> Op:  # fmt: skip
        """Overwrite f with the figures of the blocks between ``bounds``; x holds exactly their classes."""
        if not f.size:
            return NOTHING
        x_rc = as_matrix(x, label.ndim)
        f_rf = as_matrix(f, label.ndim)
        cuts = self.xp.asarray(np.array(bounds, np.int64))
        rows, columns = x_rc.shape
        factors = None if weights is None else self.xp.asarray(np.array(weights, self.dtype))
        args = x_rc, label, f_rf, cuts, rows, columns, topk, float(np.finfo(self.dtype).min), factors
        grid = min(rows, MOST), len(bounds) - 1
        return self.launch("vocabulary.cu", "class_blocks", rows, *args, block=row_threads(columns), grid=grid)

    def class_loss(self, a: ClassLossArguments) -> Op:
        """y = the probabilities of these classes; metrics, unless None, as in ``softmax_loss``."""
        if not a.x.size:
            return NOTHING
        x_rc, f_rf, y_rc = (as_matrix(array, a.label.ndim) for array in (a.x, a.f, a.y))
        rows, columns = x_rc.shape
        values = None if a.metrics is None else LaunchScratch((2 if a.ignored is None else 3, rows), np.float64)
        blocks = f_rf.shape[1] // count_block_figures(a.topk)
        arrays = x_rc, a.label, f_rf, y_rc, values
        args = rows, columns, blocks, a.classes, a.topk, float(a.scale), float(a.smoothing), *label_rule(self, a)
        wrong = bad_label_slot(self, a.classes, a.ignored)
        return self.launches(
            self.rows("vocabulary.cu", "class_loss", rows, columns, *arrays, *args, wrong),
            None if values is None else add_to_metrics(self, values, a.metrics, a.owned, a.positions),
        )
