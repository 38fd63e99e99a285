"""kEuclideanLoss: half the squared distance between prediction and target, averaged over the rows."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import check_sources, fault, float_source
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


HINT = "make the sources match; an input has targets if its conf has labels and target: true"


@final
class EuclideanLoss(Layer):
    """Objective: the mean over the rows of the global mini-batch of the sum of (x - t)^2 / 2; y = x - t.

    Reports the sum of (x - t)^2, as SINGA prints it. The rows of the target may have other axes than the rows of the
    prediction, such as an image and a vector, if they hold the same number of elements. The target is a layer, or the
    targets of an input layer with ``target: true``.
    """

    types: ClassVar[tuple[str, ...]] = ("kEuclideanLoss",)
    metrics: tuple[str, ...] = ("loss",)
    is_loss: ClassVar[bool] = True

    @classmethod
    def read_output(cls, k: int) -> str:
        return "target" if k == 1 else "data"

    def infer(self) -> tuple[Spec, ...]:
        check_sources(self, "the prediction", "the target")
        prediction = float_source(self, 0)
        target = float_source(self, 1)
        rows = [(spec.shape[0], prod(spec.shape[1:])) for spec in (prediction, target)]
        if rows[0] != rows[1]:
            expected = f"a target of {rows[0][0]} rows with {rows[0][1]} elements each"
            raise fault(self, expected, str(target.shape), HINT, "srclayers", 1)
        return (prediction,)

    def cuts(self) -> tuple[int | str, ...]:
        return (0,)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(tuple((region[0], *spec.whole[1:]) for spec in self.inputs))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.elementwise_flops(size(region)), (flops.elementwise_flops(size(region)),) * 2)

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.euclidean_loss(call.x[0], call.x[1], call.y[0], call.metrics, call.owned)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        # y = x - t, so the gradients of prediction and target differ in their sign only. Dividing by the rows of the
        # global mini-batch, not by those of the part, makes the gradient independent of the cut.
        signs = ((wanted_gradient(call.dx, 0), 1), (wanted_gradient(call.dx, 1), -1))
        factors = [(dx, sign / call.rows) for dx, sign in signs if dx is not None]
        return chain_ops(*(kernels.euclidean_loss_gradient(call.y[0], dx, f, call.owned) for dx, f in factors))
