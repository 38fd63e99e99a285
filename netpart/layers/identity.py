"""kSplit, kBridgeSrc and kBridgeDst as layers of a job: a copy of the source.

netpart inserts its own splits and bridges where a tensor has several readers or crosses workers. In a job these types
only place a copy; it re-shards the tensor if its cut differs from the cut of its source. Labels are copied too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import check_sources, float_source
from netpart.layers.layer import Layer, MemoryOrder, MemoryReuse
from netpart.layers.part import Call, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import INT, Region, Spec

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels
    from netpart.proto.job_pb2 import LayerProto


@final
class Identity(Layer):
    """y = x."""

    types: ClassVar[tuple[str, ...]] = ("kSplit", "kBridgeSrc", "kBridgeDst")
    narrow_verbs: ClassVar[tuple[str, ...]] = ("copy",)
    confs: ClassVar[tuple[str, ...]] = ("split_conf",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST
    output_names: tuple[str, ...] = ("data", "label")
    rereads = ""
    reuse = (MemoryReuse.SAME, MemoryReuse.SAME)

    @classmethod
    def carries_labels(cls, conf: LayerProto) -> bool:
        return True

    def infer(self) -> tuple[Spec, ...]:
        if len(self.inputs) != 2 or self.inputs[1].dtype != INT:
            check_sources(self, "the input")
        return (float_source(self, least=1), *self.inputs[1:])

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return (region, *((region[0], *spec.whole[1:]) for spec in self.outputs[1:]))

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(self.outputs_of(region))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return chain_ops(*(kernels.copy(y, x) for y, x in zip(call.y, call.x, strict=True)))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        return chain_ops() if dx is None else kernels.copy(dx, call.dy[0])
