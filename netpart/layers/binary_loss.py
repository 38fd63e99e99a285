"""kBinaryLoss: the cross-entropy of several labels of 0 or 1 in a row, each after a logistic function."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import fault
from netpart.layers.element_loss import ElementLoss
from netpart.layers.part import Call, Cost
from netpart.layers.weights import wanted_gradient
from netpart.spec import INT, Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class BinaryLoss(ElementLoss):
    """Objective: scale * mean over the rows of the global mini-batch, and over the elements of a row, of -log p(label).

    The prediction x are logits: y = p(1) = 1 / (1 + exp(-x)). Labels, 0 or 1, have an element for each of x: (batch,
    outputs), or (batch) for one output. The loss of labels 1 is multiplied by positive_weight: one for all, or one for
    each element of axis 1 of x. It is exact for large |x| too.
    Reports two sums over the rows: the loss, and the share of the labels that x > 0 predicts.
    """

    types: ClassVar[tuple[str, ...]] = ("kBinaryLoss",)
    metrics: tuple[str, ...] = ("loss", "accuracy")
    classes: int = 2
    target_dtype: ClassVar[str] = INT
    unread: ClassVar[tuple[str, ...]] = ("delta",)
    hint: ClassVar[str] = (
        "name the input layer here, without target: true, and predict one logit for each of its labels"
    )

    @classmethod
    def read_output(cls, k: int) -> str:
        return "label" if k == 1 else "data"

    def infer(self) -> tuple[Spec, ...]:
        (prediction,) = super().infer()
        given = list(self.conf.loss_conf.positive_weight)
        channels = prediction.shape[1]
        at = "loss_conf", "positive_weight"
        if len(given) not in (0, 1, channels):
            hint = "write one, or one for each element of axis 1 of the prediction"
            raise fault(self, f"1 or {channels} positive_weights", str(len(given)), hint, *at)
        wrong = next((weight for weight in given if not 0 <= weight < inf), None)
        if wrong is not None:
            raise fault(self, "positive_weights of 0 or more", f"{wrong:g}", "1 weighs both labels alike", *at)
        self.weights = given if len(given) == channels else (given or [1.0]) * channels
        return (prediction,)

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        own = flops.elementwise_flops(size(region))
        return Cost(flops.activation_flops("sigmoid", size(region)) + own, (own,))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        weights = self.weights[slice(*call.region[1])]
        return kernels.binary_loss(
            call.x[0], call.x[1], call.y[0], call.metrics, call.owned, weights, self.elements, self.scale
        )

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        if dx is None:
            return chain_ops()
        # The mean over the global mini-batch and all elements of a row, whatever share of them this part computes.
        factor = self.scale / (call.rows * self.elements)
        weights = self.weights[slice(*call.region[1])]
        return kernels.binary_loss_gradient(call.y[0], call.x[1], dx, call.owned, weights, factor)
