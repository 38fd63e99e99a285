"""kAdd and kSum: the sum of sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain
from netpart.layers.combination import Combination
from netpart.layers.layer import Reuse
from netpart.layers.part import Call, Cost
from netpart.layers.weights import wanted
from netpart.spec import Region, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Add(Combination):
    """y = x0 + x1 + ..., element by element; a source may be named more than once."""

    types: ClassVar[tuple[str, ...]] = ("kAdd", "kSum")
    fuses: ClassVar[bool] = True
    rereads = ""
    reuse = (Reuse.OVER, Reuse.SAME)

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.total(size(region), len(self.inputs)), self.folds(region))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.total(call.y[0], call.x, call.activation)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        gradients = [wanted(call.dx, k) for k in range(len(self.inputs))]
        return chain(*(kernels.fold(dx, call.dy[0]) for dx in gradients if dx is not None))
