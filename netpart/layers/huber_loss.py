"""kHuberLoss: half the squared distance near 0 and the distance further out, averaged over all elements."""

from __future__ import annotations

from math import inf
from typing import ClassVar, final

from netpart.layers.checks import fault
from netpart.layers.distance_loss import DistanceLoss
from netpart.spec import Spec


@final
class HuberLoss(DistanceLoss):
    """Objective: scale * mean of h(x - t) over the rows of the global mini-batch and the elements of a row; y = x - t.

    h(d) is d^2 / 2 up to |d| = delta, and delta * (|d| - delta / 2) beyond (Huber, Robust Estimation of a Location
    Parameter, 1964). It is the mean over all elements, where kEuclideanLoss sums over the elements of a row.
    The target is a layer, or the targets of an input layer with ``target: true``.
    """

    types: ClassVar[tuple[str, ...]] = ("kHuberLoss",)
    unread: ClassVar[tuple[str, ...]] = ("positive_weight",)

    def infer(self) -> tuple[Spec, ...]:
        delta = self.conf.loss_conf.delta
        if not 0 < delta < inf:
            hint = "write the distance from which on the loss is linear"
            raise fault(self, "a positive delta", f"{delta:g}", hint, "loss_conf", "delta")
        return super().infer()

    def delta(self) -> float:
        return float(self.conf.loss_conf.delta)
