"""kConcate: sources side by side along concate_dim."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels.op import Array, Op, chain
from netpart.layers.checks import fault, numbers
from netpart.layers.layer import Layer, MemoryOrder
from netpart.layers.part import Call, Needs
from netpart.layers.weights import wanted
from netpart.spec import Region, Spec, intersect, relative

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Concate(Layer):
    """y = [x0 x1 ...] along an axis behind the batch; a part need not touch every source."""

    types: ClassVar[tuple[str, ...]] = ("kConcate",)
    confs: ClassVar[tuple[str, ...]] = ("concate_conf",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST
    rereads = ""

    def infer(self) -> tuple[Spec, ...]:
        if not self.inputs:
            raise fault(self, "at least one source", "none", "name them with srclayers", "srclayers")
        specs, self.axis = [numbers(self, k) for k in range(len(self.inputs))], self.conf.concate_conf.concate_dim
        if not 0 < self.axis < specs[0].rank:
            hint = "axis 0 is the batch, whose rows keep their number through the net"
            got, at = str(self.axis), ("concate_conf", "concate_dim")
            raise fault(self, f"concate_dim from 1 to {specs[0].rank - 1}", got, hint, *at)
        for k, spec in enumerate(specs):
            if self._rest(spec) != self._rest(specs[0]):
                expected = f"a source like {specs[0].shape} on every axis but {self.axis}"
                raise fault(self, expected, str(spec.shape), "make the sources match", "srclayers", k)
        widths = [spec.shape[self.axis] for spec in specs]
        self.starts = list(accumulate(widths, initial=0))
        first = specs[0].shape
        return (Spec((*first[: self.axis], sum(widths), *first[self.axis + 1 :])),)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        boxes = [intersect(region, self._place(k, spec.whole, 1)) for k, spec in enumerate(self.inputs)]
        return Needs(tuple(None if box is None else self._place(k, box, -1) for k, box in enumerate(boxes)))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return chain(*(kernels.copy(part, call.x[k]) for k, part in self._parts(call, call.y[0])))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        gradients = [(wanted(call.dx, k), part) for k, part in self._parts(call, call.dy[0])]
        return chain(*(kernels.copy(dx, part) for dx, part in gradients if dx is not None))

    def _parts(self, call: Call, array: Array) -> list[tuple[int, Array]]:
        """The views of ``array``, which holds the output's region, that the touched sources fill."""
        touched = [(k, need) for k, need in enumerate(call.needs.inputs) if need is not None]
        return [(k, array[relative(self._place(k, need, 1), call.region)]) for k, need in touched]

    def _place(self, k: int, region: Region, sign: int) -> Region:
        """Moves a region of source ``k`` into the output (``sign`` 1) or back (-1)."""
        (lo, hi), shift = region[self.axis], sign * self.starts[k]
        return (*region[: self.axis], (lo + shift, hi + shift), *region[self.axis + 1 :])

    def _rest(self, spec: Spec) -> tuple[int, ...]:
        return (*spec.shape[: self.axis], *spec.shape[self.axis + 1 :])
