"""kTranspose: the axes after the batch in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import fault, one_source, require_conf
from netpart.layers.layer import Layer, MemoryReuse
from netpart.layers.part import Call, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Spec

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Transpose(Layer):
    """Axis i of the output is the input's axis that the conf lists as number i; axis 0, the batch, stays."""

    types: ClassVar[tuple[str, ...]] = ("kTranspose",)
    narrow_verbs: ClassVar[tuple[str, ...]] = ("copy",)
    confs: ClassVar[tuple[str, ...]] = ("transpose_conf",)
    rereads = ""
    reuse = (MemoryReuse.SAME, MemoryReuse.SAME)

    def infer(self) -> tuple[Spec, ...]:
        source = one_source(self)
        require_conf(self, "transpose_conf", "axis: 2 axis: 1")
        self.moved_axes = (0, *self.conf.transpose_conf.axis)
        if sorted(self.moved_axes) != list(range(source.rank)):
            expected = f"the axes 1 to {source.rank - 1}, each once"
            got = str(list(self.conf.transpose_conf.axis))
            hint = "list them in the order of the output"
            raise fault(self, expected, got, hint, "transpose_conf", "axis")
        return (Spec(tuple(source.shape[a] for a in self.moved_axes)),)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((tuple(region[self.moved_axes.index(a)] for a in range(len(region))),))

    def keeps_order(self, kernels: type[Kernels], order: tuple[int, ...]) -> bool:
        return kernels.any_order

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.copy(call.y[0], call.x[0].transpose(self.moved_axes))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        return chain_ops() if dx is None else kernels.copy(dx.transpose(self.moved_axes), call.dy[0])
