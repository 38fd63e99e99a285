"""Moments: what a batch norm that is cut on rows or space has to know of all its parts; inserted, never written."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.layer import INPUT, Layer, MemoryOrder, ParamSpec
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import added_gradient, wanted_gradient
from netpart.proto.layer_pb2 import LayerType
from netpart.spec import Region, Shape, Spec, extent, size, whole_region

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Moments(Layer):
    """First and second moment (1, channels, 2) of each channel of x (batch, channels, ...) about its running mean.

    Each part sums over a box of rows and space, the contraction, and has an addend of them; each adds its own to the
    running statistics too.
    """

    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST
    adds_gradients: ClassVar[bool] = True
    exact: ClassVar[bool] = True

    def __init__(self, norm: Layer, name: str) -> None:
        """The moments of batch norm ``norm``."""
        from netpart.proto.job_pb2 import LayerProto

        self.norm = norm
        conf = LayerProto(name=name, type=LayerType.kUserLayer, user_type="Moments", srclayers=norm.conf.srclayers)
        super().__init__(conf, norm.inputs[:1], training=norm.training)

    def infer(self) -> tuple[Spec, ...]:
        rows, channels, *space = self.inputs[0].shape
        self.space = (rows, *space)
        return (Spec((1, channels, 2)),)

    def parameters(self) -> tuple[ParamSpec, ...]:
        return self.norm.params[-2:]

    def cuts(self) -> tuple[int | str, ...]:
        return (1, INPUT)

    def contraction(self) -> Shape | None:
        return self.space

    def share(self, region: Region) -> tuple[Region, Region | None]:
        """The part of the moments that a box of x makes."""
        rows, channels, *space = region
        return ((0, 1), channels, (0, 2)), (rows, *space)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        rows, *space = term or whole_region(self.space)
        return Needs(((rows, region[1], *space),), ((region[1],),) * 2)

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        price = flops.elementwise_flops(prod(extent(region[1:2])) * size(term or whole_region(self.space)))
        return Cost(price, (price,))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.moments(call.x[0], call.w[0], call.y[0], prod(self.space))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        ops = [kernels.moments_share(call.y[0], self.space[0] / call.rows, *call.dw)]
        if dx is not None:
            add = added_gradient(call)
            ops.append(kernels.moments_gradient(call.x[0], call.w[0], call.dy[0], dx, prod(self.space), add))
        return chain_ops(*ops)
