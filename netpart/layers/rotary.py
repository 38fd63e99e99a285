"""kRotary: rotation of pairs of features by an angle that grows with the position."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from netpart.kernels import flops
from netpart.kernels.op import Array, Op, chain_ops
from netpart.layers.checks import fault, one_source
from netpart.layers.layer import Layer, MemoryReuse
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Rotary(Layer):
    """Rotation of features 2i and 2i + 1 of position t by t * base^(-2i / features) radians.

    Input (batch, ..., positions, features). The features cannot be cut. Su et al., RoFormer, 2021, section 3.2.2.
    """

    types: ClassVar[tuple[str, ...]] = ("kRotary",)
    rereads = ""
    reuse = (MemoryReuse.OVER, MemoryReuse.OVER)
    confs: ClassVar[tuple[str, ...]] = ("rotary_conf",)

    def infer(self) -> tuple[Spec, ...]:
        source = one_source(self, least=3)
        if source.shape[-1] % 2:
            raise fault(self, "an even number of features", str(source.shape), "change the source", "srclayers", 0)
        if self.conf.rotary_conf.base <= 0:
            got = f"{self.conf.rotary_conf.base:g}"
            hint = "omit base"
            raise fault(self, "a base above 0", got, hint, "rotary_conf", "base")
        return (source,)

    def cuts(self) -> tuple[int | str, ...]:
        return tuple(range(self.output.rank - 1))

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region,))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.rotate_flops(size(region)), (flops.rotate_flops(size(region)),))

    def keeps_order(self, kernels: type[Kernels], order: tuple[int, ...]) -> bool:
        return kernels.any_order and (not order or order[-1] == self.output.rank - 1)

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.rotate(call.x[0], call.y[0], self.angles(kernels, call.region))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        return chain_ops() if dx is None else kernels.rotate(call.dy[0], dx, self.angles(kernels, call.region), -1)

    def angles(self, kernels: Kernels, region: Region) -> Array:
        """(positions of the part, features / 2) in radians, float64."""
        features = self.output.shape[-1]
        frequencies = self.conf.rotary_conf.base ** -(np.arange(0, features, 2) / features)
        return kernels.xp.asarray(np.arange(*region[-2])[:, None] * frequencies)
