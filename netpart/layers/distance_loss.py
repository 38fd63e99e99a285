"""Base class of kL1Loss and kHuberLoss: losses of the distance between prediction and target."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from netpart.kernels.op import Op, chain_ops
from netpart.layers.element_loss import ElementLoss
from netpart.layers.part import Call
from netpart.layers.weights import wanted_gradient
from netpart.spec import FLOAT

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


class DistanceLoss(ElementLoss):
    """y = x - t. A subclass defines ``delta``."""

    target_dtype: ClassVar[str] = FLOAT
    hint: ClassVar[str] = "make the sources match; an input has targets if its conf has labels and target: true"

    @classmethod
    def read_output(cls, k: int) -> str:
        return "target" if k == 1 else "data"

    @abstractmethod
    def delta(self) -> float:
        """The distance from which on the loss is linear; 0: it is the distance."""

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.distance_loss(
            call.x[0], call.x[1], call.y[0], call.metrics, call.owned, self.delta(), self.elements, self.scale
        )

    def backward(self, kernels: Kernels, call: Call) -> Op:
        # The mean over the global mini-batch and all elements of a row, whatever share of them this part computes.
        mean = self.scale / (call.rows * self.elements)
        # y = x - t, so the gradients of prediction and target differ in their sign only.
        signs = ((wanted_gradient(call.dx, 0), 1), (wanted_gradient(call.dx, 1), -1))
        factors = [(dx, sign * mean) for dx, sign in signs if dx is not None]
        return chain_ops(
            *(kernels.distance_loss_gradient(call.y[0], dx, f, self.delta(), call.owned) for dx, f in factors)
        )
