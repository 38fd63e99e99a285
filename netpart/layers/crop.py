"""kCrop: a box of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import fault, one_source, require_conf
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Spec, contains, relative_slices

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Crop(Layer):
    """Input (batch, ...), output (batch, *shape): the elements from ``start`` on; -1 centres the box on its axis."""

    types: ClassVar[tuple[str, ...]] = ("kCrop",)
    narrow_verbs: ClassVar[tuple[str, ...]] = ("copy",)
    confs: ClassVar[tuple[str, ...]] = ("crop_conf",)

    def infer(self) -> tuple[Spec, ...]:
        source = one_source(self)
        require_conf(self, "crop_conf", "shape: 8 shape: 8 start: -1 start: -1")
        shape = tuple(self.conf.crop_conf.shape)
        start = tuple(self.conf.crop_conf.start)
        space = source.shape[1:]
        if not len(shape) == len(start) == len(space) or min(shape) < 1:
            got = f"shape {shape}, start {start}"
            hint = "write both once per axis after the batch"
            raise fault(self, f"a shape and a start of {len(space)} axes", got, hint, "crop_conf", "shape")
        self.start = tuple((n - m) // 2 if s == -1 else s for s, n, m in zip(start, space, shape, strict=True))
        output = Spec((source.shape[0], *shape))
        if not contains(source.whole, self._moved(output.whole)):
            got = f"{shape} from {self.start} on"
            hint = "use a smaller shape or start"
            raise fault(self, f"a box inside {space}", got, hint, "crop_conf", "shape")
        return (output,)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        """The box, extended at the border of the output to the border of the input.

        Each cropped element must belong to the input of some part: that part writes its gradient, which is zero.
        """
        sides = zip(self._moved(region), region, self.output.shape, self.inputs[0].shape, strict=True)
        box = ((0 if lo == 0 else a, n if hi == m else b) for (a, b), (lo, hi), m, n in sides)
        return Needs((tuple(box),))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.copy(call.y[0], call.x[0][self._inside(call)])

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        if dx is None:
            return chain_ops()
        return chain_ops(kernels.zero(dx), kernels.copy(dx[self._inside(call)], call.dy[0]))

    def _moved(self, region: Region) -> Region:
        """The region of the source that holds the elements of ``region`` of the output."""
        moved = ((lo + s, hi + s) for (lo, hi), s in zip(region[1:], self.start, strict=True))
        return (region[0], *moved)

    def _inside(self, call: Call) -> tuple[slice, ...]:
        """The slices of the part's input that are its output."""
        return relative_slices(self._moved(call.region), call.needs.inputs[0] or ())
