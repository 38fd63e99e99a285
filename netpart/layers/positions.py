"""kPositions: the source plus a learned vector for each position."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import one_source
from netpart.layers.layer import Layer, ParamSpec
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient, weight_and_bias
from netpart.spec import Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Positions(Layer):
    """y = x + w. The input is (batch, ...); w has the axes after the batch, for example (positions, features)."""

    types: ClassVar[tuple[str, ...]] = ("kPositions",)

    def infer(self) -> tuple[Spec, ...]:
        return (one_source(self),)

    def parameters(self) -> tuple[ParamSpec, ...]:
        shape = self.output.shape[1:]
        return weight_and_bias(self, shape, (shape[0], size(self.output.whole[2:])), shape, blocks=(1,))

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region,), (region[1:],))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.combine_flops(size(region), 2), (0,), flops.fold_flops(size(region[1:]), size(region)))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.total(call.y[0], [call.x[0], call.w[0]])

    def backward(self, kernels: Kernels, call: Call) -> Op:
        ops = []
        dx = wanted_gradient(call.dx, 0)
        dw = wanted_gradient(call.dw, 0)
        if dx is not None:
            ops.append(kernels.copy(dx, call.dy[0]))
        if dw is not None:
            ops.append(kernels.fold(dw[None], call.dy[0]))
        return chain_ops(*ops)
