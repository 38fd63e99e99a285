"""Base class of element-wise activations: the output has the input's shape and needs the same region."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from netpart.kernels import flops
from netpart.kernels.activation import Kind
from netpart.kernels.gates import GATES
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import one_source
from netpart.layers.layer import Layer, MemoryOrder, MemoryReuse
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


class ElementwiseActivation(Layer):
    """An activation. A subclass defines ``kind`` and, for relu and elu, sets ``slope``."""

    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST
    narrow_verbs: ClassVar[tuple[str, ...]] = ("activation",)
    slope: float = 0.0

    @abstractmethod
    def kind(self) -> Kind:
        """The name of the activation."""

    def infer(self) -> tuple[Spec, ...]:
        # The derivative of a gate follows from x alone, most others from y alone: the other one need not be kept for
        # backward. relu with a negative slope is not monotonic: y does not show the sign of x. Only with slope 0 may y
        # and dx also overwrite x and dy.
        if self.kind() in GATES:
            self.rereads, self.reuse = "x", (MemoryReuse.NONE, MemoryReuse.OVER)
        elif self.kind() != "elu" and self.slope >= 0:
            self.rereads = "y"
            self.reuse = (MemoryReuse.OVER, MemoryReuse.OVER) if self.slope == 0 else self.reuse
        return (one_source(self, least=1),)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region,))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.activation_flops(self.kind(), size(region)), (flops.activation_gradient_flops(size(region)),))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.activation(self.kind(), call.x[0], call.y[0], self.slope)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        if dx is None:
            return chain_ops()
        return kernels.activation_gradient(self.kind(), call.x[0], call.y[0], call.dy[0], dx, self.slope)
