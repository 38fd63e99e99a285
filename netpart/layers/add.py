"""kAdd and kSum: the sum of the sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.broadcast_layer import BroadcastLayer
from netpart.layers.layer import MemoryReuse
from netpart.layers.part import Call, Cost
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Add(BroadcastLayer):
    """y = x0 + x1 + ..., element by element; a source may be named more than once."""

    types: ClassVar[tuple[str, ...]] = ("kAdd", "kSum")
    narrow_verbs: ClassVar[tuple[str, ...]] = ("total",)
    fuses_activation: ClassVar[bool] = True
    rereads = ""
    reuse = (MemoryReuse.OVER, MemoryReuse.SAME)

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.combine_flops(size(region), len(self.inputs)), self.folds(region))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.total(call.y[0], call.x, call.activation)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        gradients = [wanted_gradient(call.dx, k) for k in range(len(self.inputs))]
        return chain_ops(*(kernels.fold(dx, call.dy[0]) for dx in gradients if dx is not None))
