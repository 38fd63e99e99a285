"""Losses of each element by itself: binary cross-entropy, and the losses of a distance.

Metrics are float64 sums over the elements that this part owns (None: all), divided by the elements of a whole row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.errors import DataError
from netpart.kernels.activation import Activation
from netpart.kernels.metric_sums import MetricSums, unowned_mask
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.verbs import NOTHING, as_matrix


class ElementLosses(Activation):
    """x, y, dx (B, *F); a target t has the same number of elements per row; owned bool (B, ...) or None.

    ``share``: the elements of a whole row, of which this part may have some.
    """

    def binary_loss(
        self, x: Array, label: Array, y: Array, metrics: Array, owned: Array | None, weights: Sequence[float],
        share: int, scale: float,
    ) -> Op:  # fmt: skip
        """y = 1 / (1 + exp(-x)); metrics (2,) += [Σ loss · scale, Σ right] / ``share``.

        ``label`` is int32, 0 or 1. The loss of label 0 is -log(1 - y) = log(1 + exp(x)); that of label 1 is -log y =
        log(1 + exp(-x)), times the element of ``weights`` (C,) for its index on axis 1 of x. Both logarithms are
        max(±x, 0) + log(1 + exp(-|x|)), so that they are exact for large |x| too. An element is right if x > 0 goes
        with label 1, or x <= 0 with label 0. ``run`` raises DataError for another label.
        """
        if not y.size:
            return NOTHING
        xp = self.xp
        x_bci, t_bci = self._by_channel(x, len(weights)), self._by_channel(label, len(weights))
        factors = self._column(weights)
        found = _ElementSums(self, x, metrics, owned, share)

        def run(one: Array, tail: Array, loss: Array, other: Array, mark: Array, *sums: Array) -> None:
            _check_bits(label)
            xp.copyto(one, t_bci)
            _write_tail(xp, x_bci, tail)
            xp.maximum(x_bci, 0, out=loss)
            xp.add(loss, tail, out=loss)
            xp.multiply(loss, one, out=other)
            xp.subtract(loss, other, out=loss)  # 0 where the label is 1
            xp.negative(x_bci, out=other)
            xp.maximum(other, 0, out=other)
            xp.add(other, tail, out=other)
            xp.multiply(other, one, out=other)
            xp.multiply(other, factors, out=other)
            xp.add(loss, other, out=loss)
            xp.multiply(loss, scale, out=loss)
            found.add(0, loss, *sums)
            xp.greater(x_bci, 0, out=mark)
            xp.multiply(mark, one, out=loss)
            xp.less_equal(x_bci, 0, out=mark)  # not the opposite of the line above: a NaN is neither
            xp.multiply(mark, one, out=other)
            xp.subtract(loss, other, out=loss)
            xp.add(loss, mark, out=loss)
            found.add(1, loss, *sums)

        several = [(x_bci.shape, self.dtype)] * 4 + [(x_bci.shape, bool)]
        return chain_ops(self.activation("sigmoid", x, y), Op(run, [*several, *found.scratch]))

    def binary_loss_gradient(
        self, y: Array, label: Array, dx: Array, owned: Array | None, weights: Sequence[float], factor: float
    ) -> Op:
        """Overwrite dx = (y - label) · factor, times the weight where the label is 1; 0 in elements of others."""
        if not dx.size:
            return NOTHING
        xp = self.xp
        y_bci, t_bci, dx_bci = (self._by_channel(each, len(weights)) for each in (y, label, dx))
        factors = self._column(weights)
        foreign = _foreign_elements(self, owned, dx)

        def run(one: Array, weight: Array) -> None:
            xp.copyto(one, t_bci)
            xp.subtract(y_bci, one, out=dx_bci)
            xp.multiply(one, factors, out=weight)
            xp.subtract(1, one, out=one)
            xp.add(weight, one, out=weight)
            xp.multiply(dx_bci, weight, out=dx_bci)
            xp.multiply(dx_bci, factor, out=dx_bci)
            if foreign is not None:
                xp.copyto(as_matrix(dx), 0, where=foreign)

        return Op(run, [(y_bci.shape, self.dtype)] * 2)

    def distance_loss(
        self, x: Array, t: Array, y: Array, metrics: Array, owned: Array | None, delta: float, share: int, scale: float
    ) -> Op:
        """y = x - t; metrics (1,) += Σ loss · scale / ``share``.

        The loss is |y| for ``delta`` 0. For a positive one it is y² / 2 up to |y| = delta, and the tangent beyond:
        delta · (|y| - delta / 2) (Huber, 1964).
        """
        if not y.size:
            return NOTHING
        xp = self.xp
        x_bf, t_bf, y_bf = map(as_matrix, (x, t, y))
        found = _ElementSums(self, y, metrics, owned, share)

        def run(loss: Array, near: Array, *sums: Array) -> None:
            xp.subtract(x_bf, t_bf, out=y_bf)
            xp.absolute(y_bf, out=loss)
            if delta:
                xp.minimum(loss, delta, out=near)
                xp.multiply(near, 0.5, out=near)
                xp.subtract(loss, near, out=loss)
                xp.multiply(near, 2, out=near)
                xp.multiply(loss, near, out=loss)
            xp.multiply(loss, scale, out=loss)
            found.add(0, loss, *sums)

        return Op(run, [(y_bf.shape, self.dtype)] * 2 + found.scratch)

    def distance_loss_gradient(self, y: Array, dx: Array, factor: float, delta: float, owned: Array | None) -> Op:
        """Overwrite dx = factor · the derivative of ``distance_loss`` by y, 0 in elements of others; y = 0 has 0."""
        if not dx.size:
            return NOTHING
        xp = self.xp
        y_bf, dx_bf = as_matrix(y), as_matrix(dx)
        foreign = _foreign_elements(self, owned, dx)

        def run() -> None:
            if delta:
                xp.clip(y_bf, -delta, delta, out=dx_bf)
            else:
                xp.sign(y_bf, out=dx_bf)
            xp.multiply(dx_bf, factor, out=dx_bf)
            if foreign is not None:
                xp.copyto(dx_bf, 0, where=foreign)

        return Op(run)

    def _by_channel(self, array: Array, channels: int) -> Array:
        """A view (B, channels, I) of ``array``."""
        return as_matrix(array).reshape(len(array), channels, -1)

    def _column(self, weights: Sequence[float]) -> Array:
        """``weights`` as an array (C, 1)."""
        return self.xp.asarray(list(weights), self.dtype).reshape(-1, 1)


class _ElementSums:
    """Adder of the owned elements of an array to one of the metrics. ``scratch``: a column of rows, and its sums."""

    def __init__(self, verbs: ElementLosses, x: Array, metrics: Array, owned: Array | None, share: int) -> None:
        self.xp = verbs.xp
        self.report = MetricSums(verbs, metrics, None, len(x), share)
        self.foreign = _foreign_elements(verbs, owned, x)
        self.scratch = [((len(x), 1), verbs.dtype), *self.report.scratch]

    def add(self, slot: int, values: Array, row: Array, value: Array, total: Array) -> None:
        """metrics[slot] += Σ owned ``values``; overwrites the arrays."""
        if self.foreign is not None:
            self.xp.copyto(as_matrix(values), 0, where=self.foreign)
        self.xp.sum(as_matrix(values), axis=1, keepdims=True, out=row)
        self.xp.copyto(value, row)
        self.report.add(slot, value, total)


def _foreign_elements(verbs: ElementLosses, owned: Array | None, x: Array) -> Array | None:
    """The mask of the elements of ``x``, as a matrix, that another part owns; None: there are none."""
    return unowned_mask(verbs, owned, len(x))


def _write_tail(xp: Any, x: Array, tail: Array) -> None:
    """tail = log(1 + exp(-|x|))."""
    xp.absolute(x, out=tail)
    xp.negative(tail, out=tail)
    xp.exp(tail, out=tail)
    xp.log1p(tail, out=tail)


def _check_bits(label: Array) -> None:
    """Raise DataError unless every label, at least one, is 0 or 1."""
    if int(label.view("uint32").max()) > 1:  # one pass: negative labels are large as uint32
        low, high = int(label.min()), int(label.max())
        raise DataError(describe_bad_bit(low if low < 0 else high))


def describe_bad_bit(label: int) -> str:
    """The error text for ``label``."""
    return f"label: expected 0 or 1, got {label}; correct the labels, or give classes to a kSoftmaxLoss"
