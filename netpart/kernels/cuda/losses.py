"""Losses and accuracy: a kernel with a block for each row, and one that adds up the figures of the rows."""

from __future__ import annotations

from math import fsum
from typing import Any, NamedTuple

import numpy as np

from netpart.kernels import losses
from netpart.kernels.cuda.launch import CudaVerbs, KernelLaunch, LaunchScratch
from netpart.kernels.cuda.row_kernels import RowVerbs
from netpart.kernels.cuda.softmax import Softmax
from netpart.kernels.loss_arguments import ClassLossArguments, SoftmaxLossArguments, SoftmaxLossGradientArguments
from netpart.kernels.op import Array, Op
from netpart.kernels.ranking import describe_bad_label
from netpart.kernels.verbs import NOTHING, Verbs, as_matrix

ALONE = 1024
"""The most threads of the single block that adds up."""


class Losses(losses.Losses, Softmax):
    """x (B, ..., *F), label int32 (B, ...), owned bool (B, ...) or None; n classes = prod F.

    A label that is not a class is recorded in the complaints of the device, and makes loss and hits NaN.
    """

    def softmax_loss(self, a: SoftmaxLossArguments) -> Op:
        """y (B, ..., n) = softmax(x); metrics += [Σ -log p_label · scale, hits, rows that count, the first in bits]."""
        if not a.x.size:
            return NOTHING
        x_bn = as_matrix(a.x, a.label.ndim)
        y_bn = as_matrix(a.y, a.label.ndim)
        (rows, classes) = x_bn.shape
        values = LaunchScratch((2 if a.ignored is None else 3, rows), np.float64)
        args = rows, classes, a.topk, float(a.scale), float(a.smoothing), *label_rule(self, a)
        wrong = bad_label_slot(self, classes, a.ignored)
        return self.launches(
            self.rows("losses.cu", "softmax_loss", rows, classes, x_bn, a.label, y_bn, values, *args, wrong),
            add_to_metrics(self, values, a.metrics, a.owned, a.positions),
        )

    def softmax_loss_gradient(self, a: SoftmaxLossGradientArguments) -> Op:
        """Overwrites dx = (y · Σ t - t) · factor with the target t where it is owned, and 0 elsewhere."""
        if not a.dx.size:
            return NOTHING
        y_bn = as_matrix(a.y, a.label.ndim)
        dx_bn = as_matrix(a.dx, a.label.ndim)
        mine = mark_owned(self, a.owned, a.label.size)
        rows, columns = y_bn.shape
        first, classes = a.among or (0, columns)
        args = *mine, rows, columns, first, classes, float(a.factor), float(a.smoothing), *label_rule(self, a)
        return self.launches(
            self.rows("losses.cu", "softmax_loss_gradient", rows, columns, y_bn, a.label, dx_bn, *args)
        )

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
        self, x: Array, label: Array, metrics: Array, topk: int, owned: Array | None, positions: int = 1,
        ignored: int | None = None,
    ) -> Op:  # fmt: skip
        """metrics (1,) += the owned rows whose label is among the ``topk`` largest of x; with ``ignored`` also those
        that have another label."""
        if not x.size:
            return NOTHING
        x_bn = as_matrix(x, label.ndim)
        values = LaunchScratch((1 if ignored is None else 2, label.size), np.float64)
        wrong = bad_label_slot(self, x_bn.shape[1], ignored)
        args = x_bn, label, values, *x_bn.shape, topk, *ignored_mark(ignored), wrong
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


def bad_label_slot(verbs: CudaVerbs, classes: int, ignored: int | None = None) -> Array:
    """The device memory for a label that is neither a class nor ``ignored``, of which a kernel complains."""
    return verbs.device.complaints.add(lambda label: describe_bad_label(label, classes, ignored))


def ignored_mark(ignored: int | None) -> tuple[bool, int]:
    """Whether a label is ignored, and which."""
    return ignored is not None, ignored or 0


def label_rule(
    verbs: Verbs, a: SoftmaxLossArguments | SoftmaxLossGradientArguments | ClassLossArguments
) -> tuple[Any, ...]:
    """The arguments of a kernel for how each label counts: weights and their sum, what is ignored, total, count."""
    weights = None if a.weights is None else verbs.xp.asarray(np.array(a.weights, verbs.dtype))
    return weights, fsum(a.weights or ()), *ignored_mark(a.ignored), a.total, a.batch


def add_to_metrics(
    verbs: RowVerbs, values: LaunchScratch, metrics: Array, owned: Array | None, positions: int = 1
) -> KernelLaunch | None:
    """The launch of metrics += the owned rows of ``values`` (slots, rows), summed and divided by ``positions``."""
    slots, rows = values.shape
    mine = mark_owned(verbs, owned, rows)
    args = values, mine.owned, metrics, slots, rows, mine.each, positions, len(metrics) > slots
    return verbs.bound("losses.cu", "report", rows, *args, block=min(ALONE, -(-rows // 32) * 32), grid=1)
