"""Score: takes the place of a loss, to get the gradient of the score of one class. A job cannot contain it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels.op import Array, Op, chain_ops
from netpart.layers.checks import fault, one_source
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Needs
from netpart.layers.weights import wanted_gradient
from netpart.proto.job_pb2 import LayerProto
from netpart.spec import Region, Spec

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Score(Layer):
    """Objective: the sum over the rows of the score of class ``target``, which may be set between steps."""

    is_loss: ClassVar[bool] = True

    def __init__(self, source: str, scores: Spec) -> None:
        """``source`` is the name of the layer, ``scores`` the spec of its output (batch, classes)."""
        self.target = 0
        super().__init__(LayerProto(name=f"score of {source}", srclayers=[source]), (scores,), training=False)

    def infer(self) -> tuple[Spec, ...]:
        scores = one_source(self)
        if scores.rank != 2:
            raise fault(self, "scores (batch, classes)", str(scores.shape), "only a net that classifies has them")
        return (scores,)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region,))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.copy(call.y[0], call.x[0])

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        if dx is None:
            return chain_ops()

        def fill(dx: Array) -> None:
            # Reads ``target`` when it runs, not when it is bound: one Program serves all classes.
            dx.fill(0)
            dx[:, self.target] = 1

        return kernels.feed([dx], fill)
