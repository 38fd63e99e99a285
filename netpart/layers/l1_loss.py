"""kL1Loss: the distance between prediction and target, averaged over all elements."""

from __future__ import annotations

from typing import ClassVar, final

from netpart.layers.distance_loss import DistanceLoss


@final
class L1Loss(DistanceLoss):
    """Objective: scale * mean of |x - t| over the rows of the global mini-batch and the elements of a row; y = x - t.

    It is the mean over all elements, where kEuclideanLoss sums over the elements of a row. The gradient of x = t is 0.
    The target is a layer, or the targets of an input layer with ``target: true``.
    """

    types: ClassVar[tuple[str, ...]] = ("kL1Loss",)
    unread: ClassVar[tuple[str, ...]] = ("positive_weight", "delta")

    def delta(self) -> float:
        return 0.0
