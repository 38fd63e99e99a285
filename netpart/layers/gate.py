"""kGate: the source multiplied by one learned number."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Array, Op, chain_ops
from netpart.layers.checks import one_source
from netpart.layers.layer import Layer, ParamSpec
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient, weight_and_bias
from netpart.spec import Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Gate(Layer):
    """y = w x with one number w. With w = 0 at the start, a new branch does not disturb a net that already works (Zhang
    et al., SAGAN, 2018)."""

    types: ClassVar[tuple[str, ...]] = ("kGate",)

    def infer(self) -> tuple[Spec, ...]:
        return (one_source(self, least=1),)

    def parameters(self) -> tuple[ParamSpec, ...]:
        return weight_and_bias(self, (1,), (1, 1), (1,), blocks=(1,))

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region,), (((0, 1),),))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        product = flops.combine_flops(size(region), 2)
        return Cost(product, (product,), product + flops.fold_flops(1, size(region)))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.multiply(call.y[0], self._factors(call))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        dw = wanted_gradient(call.dw, 0)
        factors = self._factors(call)
        ops = [] if dx is None else [kernels.multiply_gradient(factors, 0, call.dy[0], dx)]
        ops += [] if dw is None else [kernels.multiply_gradient(factors, 1, call.dy[0], self._stretched(dw))]
        return chain_ops(*ops)

    def _factors(self, call: Call) -> list[Array]:
        return [call.x[0], self._stretched(call.w[0])]

    def _stretched(self, weight: Array) -> Array:
        """A view of the number with as many axes as the input, each of extent 1."""
        return weight.reshape((1,) * self.output.rank)
