"""kConfusion: the confusion matrix; for two classes also the area under the ROC curve."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import isnan
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from netpart.kernels import flops
from netpart.kernels.confusion import BINS
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import check_sources, fault, float_source, label_axes
from netpart.layers.label_rules import read_argsort_ignored
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Cost, Needs
from netpart.spec import INT, Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

MOST = 64
"""Largest number of classes: a larger table cannot be read."""


@final
class Confusion(Layer):
    """Output (batch, 1): the class of the largest score of each row. It has no gradient. Sources: scores (batch,
    classes), as for kSoftmaxLoss, and labels.

    Reports the accuracy and, for two classes, sensitivity and specificity (class 1 is positive) and the area under the
    ROC curve. The area comes from histograms of the log-odds: scores closer than 1/32 may count as equal. All figures
    are computed from counts, so they do not depend on the cut. A figure without any row is omitted. Rows whose label is
    ignore_index are not counted.
    """

    types: ClassVar[tuple[str, ...]] = ("kConfusion",)
    confs: ClassVar[tuple[str, ...]] = ("argsort_conf",)

    def infer(self) -> tuple[Spec, ...]:
        check_sources(self, "the scores", "the labels")
        scores = float_source(self)
        if scores.rank != 2 or scores.shape[1] > MOST:
            got = str(scores.shape)
            hint = "name the layer below the loss"
            raise fault(self, f"scores (batch, up to {MOST} classes)", got, hint, "srclayers", 0)
        label_axes(self, 1, scores)
        if self.conf.argsort_conf.topk != 1:
            got, hint = str(self.conf.argsort_conf.topk), "remove it, or use kAccuracy"
            raise fault(self, "no topk, as a confusion is of the largest score", got, hint, "argsort_conf", "topk")
        self.ignored_label = read_argsort_ignored(self)
        self.classes = scores.shape[1]
        classes = range(scores.shape[1])
        self.metrics = tuple(f"{a} as {b}" for a, b in product(classes, classes))
        if len(classes) == 2:
            self.metrics += tuple(f"{a} in {bin}" for a, bin in product(classes, range(BINS)))
        return (Spec((scores.shape[0], 1), INT),)

    @classmethod
    def read_output(cls, k: int) -> str:
        return "label" if k == 1 else "data"

    def cuts(self) -> tuple[int | str, ...]:
        return (0,)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(((region[0], *self.inputs[0].whole[1:]), region[:1]))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.elementwise_flops(size(self.needs(region).inputs[0] or ())))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        (x, label), y = call.x, call.y[0]
        count = kernels.confusion(x, y, label, call.metrics, call.owned, self.ignored_label)
        return chain_ops(kernels.largest(x, y), count)

    @property
    def figure_names(self) -> tuple[str, ...]:
        return ("accuracy", "sensitivity", "specificity", "auc") if self.classes == 2 else ("accuracy",)

    def figures(self, sums: Sequence[float], rows: int) -> dict[str, float]:
        classes = self.inputs[0].shape[1]
        table, histograms = np.split(np.array(sums), [classes * classes])
        found = {"accuracy": _ratio_or_nan(np.trace(table.reshape(classes, classes)), table.sum())}
        if classes == 2:
            # Rows of the table are labels, columns predictions.
            (tn, fp), (fn, tp) = table.reshape(2, 2)
            found |= {"sensitivity": _ratio_or_nan(tp, tp + fn), "specificity": _ratio_or_nan(tn, tn + fp)}
            found["auc"] = _area_under_curve(*histograms.reshape(2, BINS))
        return {name: value for name, value in found.items() if not isnan(value)}

    def tables(self, sums: Sequence[float]) -> dict[str, list[list[int]]]:
        classes = self.inputs[0].shape[1]
        rows = np.array(sums[: classes * classes]).reshape(classes, classes)
        return {"confusion": rows.astype(int).tolist()}


def _area_under_curve(negatives: NDArray[Any], positives: NDArray[Any]) -> float:
    """The share of (negative, positive) pairs whose positive has the higher score; NaN if there is no pair.

    A pair with equal scores counts as half (Hanley and McNeil, 1982). Both arguments are histograms of the scores.
    """
    below = np.cumsum(negatives) - negatives / 2
    return _ratio_or_nan(positives @ below, positives.sum() * negatives.sum())


def _ratio_or_nan(part: Any, whole: Any) -> float:
    """``part / whole`` as a float; NaN if ``whole`` is 0."""
    return float(part / whole) if whole else float("nan")
