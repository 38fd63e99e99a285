"""kGlobalPooling: the mean or the maximum of each channel over all spatial axes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.kernels.pooling import Method
from netpart.layers.checks import one_source
from netpart.layers.layer import INPUT, Layer, MemoryOrder
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Shape, Spec, extent, size, whole_region

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class GlobalPooling(Layer):
    """Input (batch, channels, spatial...); the output keeps the spatial axes with extent 1.

    A mean can be cut on its inputs: each part of a volume that is cut in space computes an addend of the mean, so that
    the volume is not gathered on one worker.
    """

    types: ClassVar[tuple[str, ...]] = ("kGlobalPooling",)
    confs: ClassVar[tuple[str, ...]] = ("globalpooling_conf",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST
    rereads = ""

    def infer(self) -> tuple[Spec, ...]:
        from netpart.proto.neuron_pb2 import PoolingProto

        shape = one_source(self, least=3).shape
        self.method: Method = "MAX" if self.conf.globalpooling_conf.pool == PoolingProto.MAX else "AVG"
        self.space = shape[2:]
        return (Spec((*shape[:2], *(1 for _ in self.space))),)

    def cuts(self) -> tuple[int | str, ...]:
        return (0, 1, INPUT) if self.method == "AVG" else (0, 1)

    def contraction(self) -> Shape | None:
        return self.space if self.method == "AVG" else None

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(((*region[:2], *(term or whole_region(self.space))),))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        price = flops.pooling_flops(size(region), extent(term or whole_region(self.space)))
        return Cost(price, (price,))

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        return (((size(region),), "int64"),) if self.method == "MAX" else ()

    def forward(self, kernels: Kernels, call: Call) -> Op:
        arg = call.aux[0] if call.aux else None
        # Also the part of a term divides by all of ``space``, so that the addends sum up to the mean.
        return kernels.global_pooling(call.x[0], call.y[0], arg, self.method, prod(self.space))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        arg = call.aux[0] if call.aux else None
        if dx is None:
            return chain_ops()
        return kernels.global_pooling_gradient(call.dy[0], dx, arg, self.method, prod(self.space))
