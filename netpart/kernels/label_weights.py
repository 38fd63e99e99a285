"""Weights of labels: the factor of each label of a loss, and their sum, by which a loss may be divided."""

from __future__ import annotations

from math import fsum
from typing import Any

from netpart.kernels.op import Array, Op
from netpart.kernels.ranking import check_labels
from netpart.kernels.verbs import Verbs


class LabelWeights(Verbs):
    """label int32 (B, ...); weights: a factor per class, or None for 1; ignored: the label that counts for nothing."""

    def label_weights(
        self, label: Array, total: Array, classes: int, weights: tuple[float, ...] | None, ignored: int | None
    ) -> Op:
        """total (1, 1) = the sum of the weights of all labels that count.

        ``run`` raises DataError if a label that counts is not one of the ``classes``.
        """
        xp = self.xp
        if not label.size:
            return Op(lambda: total.fill(0))
        factors = LabelFactors(self, label, weights or (1.0,) * classes, ignored)

        def run() -> None:
            factors.read()
            check_labels(factors.known, classes, ignored)
            factors.weigh()
            xp.sum(factors.weight, axis=0, keepdims=True, out=total)

        return Op(run)


class LabelFactors:
    """The factor of each label of a loss. Its arrays are allocated when a verb is bound, and filled when it runs.

    ``known``: the labels, with class 0 in place of the ignored one. ``skipped`` (B, 1): the mask of the ignored labels,
    or None. ``weights`` (n,): the factors of the classes, or None. ``weight`` and ``mass`` (B, 1), or None: the factor
    of the label, and the sum of the factors of all classes in the target that is smoothed by ``smoothing``.
    """

    def __init__(
        self, verbs: Verbs, label: Array, weights: tuple[float, ...] | None, ignored: int | None, smoothing: float = 0.0
    ) -> None:
        xp = self._xp = verbs.xp
        column = (label.size, 1)
        self._label = label.reshape(column)
        self._ignored = ignored
        self._mode = {"mode": "clip"} if xp.__name__ == "numpy" else {}  # in other modes numpy buffers the output
        self.known = label if ignored is None else xp.empty_like(label)
        self.skipped = None if ignored is None else xp.empty(column, bool)
        self.weights = None if weights is None else xp.asarray(weights, verbs.dtype)
        self.weight = None if weights is None else xp.empty(column, verbs.dtype)
        self._sharpness = 1 - smoothing
        self._spread = 0.0 if weights is None else smoothing / len(weights) * fsum(weights)
        self.mass = xp.empty(column, verbs.dtype) if weights is not None and smoothing else self.weight

    def read(self) -> None:
        """Fill ``known`` and ``skipped``."""
        if self.skipped is not None:
            self._xp.equal(self._label, self._ignored, out=self.skipped)
            self._xp.copyto(self.known.reshape(-1, 1), self._label)
            self._xp.copyto(self.known.reshape(-1, 1), 0, where=self.skipped)

    def weigh(self) -> None:
        """Fill ``weight`` and ``mass``, after ``read``."""
        if self.weight is None:
            return
        self._xp.take(self.weights, self.known.reshape(-1), out=self.weight.reshape(-1), **self._mode)
        self.omit(self.weight)
        if self.mass is not self.weight:
            self._xp.multiply(self.weight, self._sharpness, out=self.mass)
            self._xp.add(self.mass, self._spread, out=self.mass)

    def omit(self, values: Array) -> None:
        """Set the rows of ``values`` whose label is ignored to 0, also where they are NaN."""
        if self.skipped is not None:
            self._xp.copyto(values, 0, where=self.skipped)


class MeanFactor:
    """``value`` (1,): ``count`` / ``total``; 0 where the total is 0, so that a mini-batch without weight is no NaN."""

    def __init__(self, xp: Any, total: Array, count: int) -> None:
        self._xp = xp
        self._total = total.reshape(1)
        self._count = count
        self._positive = xp.empty(1, bool)
        self.value = xp.empty(1, total.dtype)

    def read(self) -> Array:
        """The value, from the total of this step."""
        xp = self._xp
        xp.greater(self._total, 0, out=self._positive)
        xp.copyto(self.value, 1)
        xp.copyto(self.value, self._total, where=self._positive)
        xp.divide(self._count, self.value, out=self.value)
        xp.multiply(self.value, self._positive, out=self.value)
        return self.value
