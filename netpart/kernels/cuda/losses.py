"""Losses and accuracy: a kernel with a block for each row, and one that adds up the figures of the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from netpart.kernels import losses
from netpart.kernels.cuda.launch import CudaVerbs, KernelLaunch, LaunchScratch
from netpart.kernels.cuda.row_kernels import RowVerbs
from netpart.kernels.cuda.softmax import Softmax
from netpart.kernels.op import Array, Op
from netpart.kernels.ranking import describe_bad_label
from netpart.kernels.verbs import NOTHING, Verbs, as_matrix

ALONE = 1024
"""The most threads of the single block that adds up."""


class Losses(losses.Losses, Softmax):
    """x (B, ..., *F), label int32 (B, ...), owned bool (B, ...) or None; n classes = prod F.

    A label that is not a class is recorded in the complaints of the device, and makes loss and hits NaN.
    """

    def softmax_loss(
        self, x: Array, label: Array, y: Array, metrics: Array, owned: Array | None, topk: int, scale: float,
        positions: int = 1, smoothing: float = 0.0,
    ) -> Op:  # fmt: skip
        """y (B, ..., n) = softmax(x); metrics (2,) += [Σ -log p_label · scale, hits]; a third is the first in bits."""
        if not x.size:
            return NOTHING
        x_bn = as_matrix(x, label.ndim)
        y_bn = as_matrix(y, label.ndim)
        (rows, classes) = as_matrix(x, label.ndim).shape
        values = LaunchScratch((2, rows), np.float64)
        args = rows, classes, topk, float(scale), float(smoothing), bad_label_slot(self, classes)
        return self.launches(
            self.rows("losses.cu", "softmax_loss", rows, classes, x_bn, label, y_bn, values, *args),
            add_to_metrics(self, values, metrics, owned, positions),
        )

    def softmax_loss_gradient(
        self, y: Array, label: Array, dx: Array, owned: Array | None, factor: float, smoothing: float = 0.0,
        among: tuple[int, int] | None = None,
    ) -> Op:  # fmt: skip
        """Overwrites dx = (y - (1 - s) · onehot(label) - s / n) · factor where it is owned, and 0 elsewhere."""
        if not dx.size:
            return NOTHING
        y_bn = as_matrix(y, label.ndim)
        dx_bn = as_matrix(dx, label.ndim)
        mine = mark_owned(self, owned, label.size)
        rows, columns = y_bn.shape
        first, classes = among or (0, columns)
        args = *mine, rows, columns, first, classes, float(factor), float(smoothing)
        return self.launches(self.rows("losses.cu", "softmax_loss_gradient", rows, columns, y_bn, label, dx_bn, *args))

    def euclidean_loss(self, x: Array, t: Array, y: Array, metrics: Array, owned: Array | None) -> Op:
        """y = x - t; metrics (1,) += Σ y² over the owned rows."""
        if not y.size:
            return NOTHING
        arrays = map(as_matrix, (x, t, y))
        (rows, columns) = as_matrix(y).shape
        values = LaunchScratch((1, len(y)), np.float64)
        return self.launches(
            self.rows("losses.cu", "euclidean_loss", rows, columns, *arrays, values, rows, columns),
            add_to_metrics(self, values, metrics, owned),
        )

    def euclidean_loss_gradient(self, y: Array, dx: Array, factor: float, owned: Array | None) -> Op:
        """Overwrites dx = y · factor in the owned rows, 0 in the others."""
        if not dx.size:
            return NOTHING
        y_bf = as_matrix(y)
        dx_bf = as_matrix(dx)
        args = *mark_owned(self, owned, len(y)), *y_bf.shape, float(factor)
        return self.launches(self.rows("losses.cu", "euclidean_loss_gradient", *y_bf.shape, y_bf, dx_bf, *args))

    def accuracy(
        self, x: Array, label: Array, metrics: Array, topk: int, owned: Array | None, positions: int = 1
    ) -> Op:
        """metrics (1,) += the owned rows whose label is among the ``topk`` largest of x."""
        if not x.size:
            return NOTHING
        x_bn = as_matrix(x, label.ndim)
        values = LaunchScratch((1, label.size), np.float64)
        args = x_bn, label, values, *x_bn.shape, topk, bad_label_slot(self, x_bn.shape[1])
        return self.launches(
            self.rows("losses.cu", "hits", *x_bn.shape, *args),
            add_to_metrics(self, values, metrics, owned, positions),
        )

    def largest(self, x: Array, y: Array) -> Op:
        """y (B, ..., k) int32 = the classes of each row's k largest x, largest first; ties: the lower class first."""
        if not y.size:
            return NOTHING
        x_bn = as_matrix(x, y.ndim - 1)
        y_bk = as_matrix(y, y.ndim - 1)
        return self.launches(self.rows("losses.cu", "largest", *x_bn.shape, x_bn, y_bk, *x_bn.shape, y_bk.shape[1]))


class OwnedMarks(NamedTuple):
    """The marks of owned elements (None: all are owned), and the number of marks of a row."""

    owned: Array | None
    each: int


def mark_owned(verbs: Verbs, owned: Array | None, rows: int) -> OwnedMarks:
    """``owned`` as contiguous marks on the device."""
    if owned is None:
        return OwnedMarks(None, 0)
    found = verbs.xp.ascontiguousarray(verbs.xp.asarray(owned))
    return OwnedMarks(found, found.size // max(1, rows))


def bad_label_slot(verbs: CudaVerbs, classes: int) -> Array:
    """The device memory for a label that is not a class, of which a kernel complains."""
    return verbs.device.complaints.add(lambda label: describe_bad_label(label, classes))


def add_to_metrics(
    verbs: RowVerbs, values: LaunchScratch, metrics: Array, owned: Array | None, positions: int = 1
) -> KernelLaunch | None:
    """The launch of metrics += the owned rows of ``values`` (slots, rows), summed and divided by ``positions``."""
    slots, rows = values.shape
    mine = mark_owned(verbs, owned, rows)
    args = values, mine.owned, metrics, slots, rows, mine.each, positions, len(metrics) > slots
    return verbs.bound("losses.cu", "report", rows, *args, block=min(ALONE, -(-rows // 32) * 32), grid=1)
