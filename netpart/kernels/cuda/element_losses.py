"""Losses of each element by itself: a kernel with a block for each row, and one that adds up the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netpart.kernels import element_losses
from netpart.kernels.cuda.launch import LaunchScratch
from netpart.kernels.cuda.losses import add_to_metrics, mark_owned
from netpart.kernels.cuda.row_kernels import RowVerbs
from netpart.kernels.element_losses import describe_bad_bit
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, as_matrix

SOURCE = "element_losses.cu"


class ElementLosses(element_losses.ElementLosses, RowVerbs):
    """x, y, dx (B, *F); a target t has the same number of elements per row; owned bool (B, ...) or None.

    A label that is neither 0 nor 1 is recorded in the complaints of the device, and makes the metrics NaN.
    """

    def binary_loss(
        self, x: Array, label: Array, y: Array, metrics: Array, owned: Array | None, weights: Sequence[float],
        share: int, scale: float,
    ) -> Op:  # fmt: skip
        """y = 1 / (1 + exp(-x)); metrics (2,) += [Σ loss · scale, Σ right] / ``share``."""
        if not y.size:
            return NOTHING
        arrays = [as_matrix(each) for each in (x, label, y)]
        rows, columns = arrays[0].shape
        values = LaunchScratch((2, rows), np.float64)
        wrong = self.device.complaints.add(describe_bad_bit)
        sizes = rows, columns, columns // len(weights), float(scale), wrong
        mine = *mark_owned(self, owned, rows), self._column(weights)
        return self.launches(
            self.rows(SOURCE, "binary_loss", rows, columns, *arrays, values, *mine, *sizes),
            add_to_metrics(self, values, metrics, None, share),
        )

    def binary_loss_gradient(
        self, y: Array, label: Array, dx: Array, owned: Array | None, weights: Sequence[float], factor: float
    ) -> Op:
        """Overwrite dx = (y - label) · factor, times the weight where the label is 1; 0 in elements of others."""
        if not dx.size:
            return NOTHING
        arrays = [as_matrix(each) for each in (y, label, dx)]
        rows, columns = arrays[0].shape
        args = *mark_owned(self, owned, rows), self._column(weights), rows, columns, columns // len(weights)
        return self.launches(self.rows(SOURCE, "binary_loss_gradient", rows, columns, *arrays, *args, float(factor)))

    def distance_loss(
        self, x: Array, t: Array, y: Array, metrics: Array, owned: Array | None, delta: float, share: int, scale: float
    ) -> Op:
        """y = x - t; metrics (1,) += Σ loss · scale / ``share``."""
        if not y.size:
            return NOTHING
        arrays = [as_matrix(each) for each in (x, t, y)]
        rows, columns = arrays[0].shape
        values = LaunchScratch((1, rows), np.float64)
        args = *mark_owned(self, owned, rows), rows, columns, float(delta), float(scale)
        return self.launches(
            self.rows(SOURCE, "distance_loss", rows, columns, *arrays, values, *args),
            add_to_metrics(self, values, metrics, None, share),
        )

    def distance_loss_gradient(self, y: Array, dx: Array, factor: float, delta: float, owned: Array | None) -> Op:
        """Overwrite dx = factor · the derivative of ``distance_loss`` by y, 0 in elements of others; y = 0 has 0."""
        if not dx.size:
            return NOTHING
        y_bf, dx_bf = as_matrix(y), as_matrix(dx)
        args = *mark_owned(self, owned, len(y_bf)), *y_bf.shape, float(factor), float(delta)
        return self.launches(self.rows(SOURCE, "distance_loss_gradient", *y_bf.shape, y_bf, dx_bf, *args))
