"""kAdd and kSum: the sum of sources of one shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain
from netpart.layers.checks import fault, numbers
from netpart.layers.layer import Call, Cost, Layer, Needs
from netpart.layers.weights import wanted
from netpart.spec import Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Add(Layer):
    """y = x0 + x1 + ..., element by element; a source may be named more than once."""

    types: ClassVar[tuple[str, ...]] = ("kAdd", "kSum")

    def infer(self) -> tuple[Spec, ...]:
        if not self.inputs:
            raise fault(self, "at least one source", "none", "name them with srclayers", "srclayers")
        specs = [numbers(self, k, least=1) for k in range(len(self.inputs))]
        for k, spec in enumerate(specs):
            if spec != specs[0]:
                expected = f"sources of one shape, {specs[0].shape}"
                raise fault(self, expected, str(spec.shape), "make the sources match", "srclayers", k)
        return (specs[0],)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region,) * len(self.inputs))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.total(size(region), len(self.inputs)))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.total(call.y[0], call.x)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        gradients = [wanted(call.dx, k) for k in range(len(self.inputs))]
        return chain(*(kernels.copy(dx, call.dy[0]) for dx in gradients if dx is not None))
