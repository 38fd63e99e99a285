"""kMax: the element-wise maximum of the sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.broadcast_layer import BroadcastLayer
from netpart.layers.checks import fault
from netpart.layers.part import Call, Cost
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Shape, Spec, extent, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

MOST = 256
"""Largest number of sources: ``aux`` holds the index of the largest one as uint8."""


@final
class Maximum(BroadcastLayer):
    """y = max(x0, x1, ...), element by element. Of equal elements the first gets the gradient (maxout of layers)."""

    types: ClassVar[tuple[str, ...]] = ("kMax",)

    def infer(self) -> tuple[Spec, ...]:
        if len(self.inputs) > MOST:
            hint = "take the maximum of maxima"
            raise fault(self, f"at most {MOST} sources", str(len(self.inputs)), hint, "srclayers")
        return super().infer()

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(
            flops.combine_flops(size(region), len(self.inputs)),
            tuple(size(region) + fold for fold in self.folds(region)),
        )

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        return ((extent(region), "uint8"),)

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.maximum(call.y[0], call.x, call.aux[0])

    def backward(self, kernels: Kernels, call: Call) -> Op:
        gradients = [(k, wanted_gradient(call.dx, k)) for k in range(len(self.inputs))]
        arg, dy = call.aux[0], call.dy[0]
        return chain_ops(*(kernels.maximum_gradient(arg, k, dy, dx) for k, dx in gradients if dx is not None))
