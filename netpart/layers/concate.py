"""kConcate: the sources joined along the axis concate_dim; axis 0 is the batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels.op import Array, Op, chain_ops
from netpart.layers.checks import fault, float_source
from netpart.layers.layer import Layer, MemoryOrder
from netpart.layers.part import Call, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import INT, Region, Spec, intersect, relative_slices, shift_region

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels
    from netpart.proto.job_pb2 import LayerProto


@final
class Concate(Layer):
    """y = [x0 x1 ...] along an axis; a part need not touch every source. If the axis is the batch and all sources are
    input layers with labels, the labels are joined too."""

    types: ClassVar[tuple[str, ...]] = ("kConcate",)
    narrow_verbs: ClassVar[tuple[str, ...]] = ("copy",)
    confs: ClassVar[tuple[str, ...]] = ("concate_conf",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST
    output_names: tuple[str, ...] = ("data", "label")
    rereads = ""

    @classmethod
    def carries_labels(cls, conf: LayerProto) -> bool:
        return conf.concate_conf.concate_dim == 0

    def infer(self) -> tuple[Spec, ...]:
        # Inputs are all data sources, followed by their labels (see ``carries_labels``). Labels count only if every
        # source has some, so exactly half of the inputs are then ints.
        labels = [spec for spec in self.inputs if spec.dtype == INT]
        self.count = len(self.inputs) - len(labels) if 2 * len(labels) == len(self.inputs) else len(self.inputs)
        if not self.inputs:
            raise fault(self, "at least one source", "none", "name them with srclayers", "srclayers")
        specs, self.axis = (
            [float_source(self, k, least=1) for k in range(self.count)],
            self.conf.concate_conf.concate_dim,
        )
        if not 0 <= self.axis < specs[0].rank:
            got = str(self.axis)
            at = ("concate_conf", "concate_dim")
            raise fault(self, f"concate_dim from 0 to {specs[0].rank - 1}", got, "0 is the batch", *at)
        self.makes_rows = self.axis == 0 and self.count > 1
        return tuple(self._joined(group) for group in (specs, labels) if group)

    def _joined(self, specs: Sequence[Spec]) -> Spec:
        """The spec of ``specs`` joined; raises ConfigError if they differ on another axis."""
        for k, spec in enumerate(specs):
            if self._rest(spec) != self._rest(specs[0]):
                expected = f"a source like {specs[0].shape} on every axis but {self.axis}"
                raise fault(self, expected, str(spec.shape), "make the sources match", "srclayers", k)
        widths = [spec.shape[self.axis] for spec in specs]
        first = specs[0].shape
        self.starts = list(accumulate(widths, initial=0))
        return Spec((*first[: self.axis], sum(widths), *first[self.axis + 1 :]), specs[0].dtype)

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return (region, *((region[0], *spec.whole[1:]) for spec in self.outputs[1:]))

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        outputs = self.outputs_of(region)
        wholes = [self._place(k, spec.whole, 1) for k, spec in enumerate(self.inputs)]
        boxes = [intersect(outputs[k // self.count], whole) for k, whole in enumerate(wholes)]
        return Needs(tuple(None if box is None else self._place(k, box, -1) for k, box in enumerate(boxes)))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return chain_ops(*(kernels.copy(part, call.x[k]) for k, part in self._parts(call, call.y)))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        gradients = [(wanted_gradient(call.dx, k), part) for k, part in self._parts(call, call.dy[:1])]
        return chain_ops(*(kernels.copy(dx, part) for dx, part in gradients if dx is not None))

    def _parts(self, call: Call, arrays: Sequence[Array]) -> list[tuple[int, Array]]:
        """(source, view) for each source that the part reads; the view is the box of ``arrays`` that the source fills.

        ``arrays`` are outputs of the part, or their gradients: these are fewer, as labels have none.
        """
        regions = self.outputs_of(call.region)
        touched = [(k, k // self.count, need) for k, need in enumerate(call.needs.inputs) if need is not None]
        return [
            (k, arrays[j][relative_slices(self._place(k, need, 1), regions[j])])
            for k, j, need in touched
            if j < len(arrays)
        ]

    def _place(self, k: int, region: Region, sign: int) -> Region:
        """Move a region of input ``k`` to its place in the output (``sign`` 1) or back (-1)."""
        return shift_region(region, self.axis, sign * self.starts[k % self.count])

    def _rest(self, spec: Spec) -> tuple[int, ...]:
        """The shape without the joined axis."""
        return (*spec.shape[: self.axis], *spec.shape[self.axis + 1 :])
