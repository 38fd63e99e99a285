"""kSlice: equal parts of the source along slice_dim; each reader reads another part.

The order of the readers in the job defines which part each of them reads. It does not depend on the placement. (In
SINGA the order of access at run time decided.) A net has one layer of this type per part that is read, all with the
same cut.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import at_least, check_sources, fault, float_source
from netpart.layers.layer import Layer, MemoryOrder
from netpart.layers.part import Call, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import INT, Region, Spec, shift_region

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels
    from netpart.proto.job_pb2 import LayerProto


@final
class Slice(Layer):
    """Input (..., num_slices · n, ...), output (..., n, ...): elements number · n to (number + 1) · n of an axis.

    If the source is an input layer with labels, a slice also outputs the labels of its rows.
    """

    types: ClassVar[tuple[str, ...]] = ("kSlice",)
    narrow_verbs: ClassVar[tuple[str, ...]] = ("copy",)
    confs: ClassVar[tuple[str, ...]] = ("slice_conf",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST
    output_names: tuple[str, ...] = ("data", "label")
    rereads = ""

    @classmethod
    def carries_labels(cls, conf: LayerProto) -> bool:
        return True

    def infer(self) -> tuple[Spec, ...]:
        if len(self.inputs) != 2 or self.inputs[1].dtype != INT:
            check_sources(self, "the input")
        spec = float_source(self, 0, least=1)
        conf = self.conf.slice_conf
        self.axis = conf.slice_dim
        parts = at_least(self, 1, conf.num_slices, "slice_conf", "num_slices")
        if not 0 <= self.axis < spec.rank:
            got = str(self.axis)
            at = ("slice_conf", "slice_dim")
            raise fault(self, f"slice_dim from 0 to {spec.rank - 1}", got, "0 is the batch", *at)
        if spec.shape[self.axis] % parts:
            got = f"{parts} of {spec.shape[self.axis]}"
            hint = f"the shape of its source is {spec.shape}"
            raise fault(self, "slices of equal extent", got, hint, "slice_conf", "num_slices")
        self.makes_rows = self.axis == 0 and parts > 1
        self.number = 0
        return tuple(self._part(spec) for spec in self.inputs)

    def part(self, name: str, number: int) -> Slice:
        """A copy of this layer, with name ``name``, for part ``number``; this layer itself is part 0."""
        found = copy(self)
        found.name = name
        found.number = number
        return found

    def _part(self, spec: Spec) -> Spec:
        """The spec of a slice of an input. Labels are sliced only if the axis is the batch."""
        if spec.dtype == INT and self.axis:
            return spec
        extent = spec.shape[self.axis] // self.conf.slice_conf.num_slices
        return Spec((*spec.shape[: self.axis], extent, *spec.shape[self.axis + 1 :]), spec.dtype)

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return (region, *((region[0], *spec.whole[1:]) for spec in self.outputs[1:]))

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        shift = self.number * self.output.shape[self.axis]
        data, *labels = self.outputs_of(region)
        return Needs(
            (shift_region(data, self.axis, shift), *(shift_region(b, 0, 0 if self.axis else shift) for b in labels))
        )

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return chain_ops(*(kernels.copy(y, x) for y, x in zip(call.y, call.x, strict=True)))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        return chain_ops() if dx is None else kernels.copy(dx, call.dy[0])
