"""kMul: the element-wise product of the sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.broadcast_layer import BroadcastLayer
from netpart.layers.part import Call, Cost
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Multiply(BroadcastLayer):
    """y = x0 * x1 * ..., element by element; a source may be named more than once."""

    types: ClassVar[tuple[str, ...]] = ("kMul",)
    narrow_verbs: ClassVar[tuple[str, ...]] = ("multiply",)

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        product = flops.combine_flops(size(region), len(self.inputs))
        return Cost(product, tuple(product + fold for fold in self.folds(region)))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.multiply(call.y[0], call.x)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        gradients = [(k, wanted_gradient(call.dx, k)) for k in range(len(self.inputs))]
        return chain_ops(
            *(kernels.multiply_gradient(call.x, k, call.dy[0], dx) for k, dx in gradients if dx is not None)
        )
