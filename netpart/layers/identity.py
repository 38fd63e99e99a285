"""kSplit, kBridgeSrc and kBridgeDst written by hand: the source itself.

netpart inserts its own where a tensor has several readers or crosses workers; written in a conf they
only place a copy, which re-shards a tensor when their cut differs from their source's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels.op import Op, chain
from netpart.layers.checks import one_source
from netpart.layers.layer import Layer, MemoryOrder, Reuse
from netpart.layers.part import Call, Needs
from netpart.layers.weights import wanted
from netpart.spec import Region, Spec

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Identity(Layer):
    """y = x."""

    types: ClassVar[tuple[str, ...]] = ("kSplit", "kBridgeSrc", "kBridgeDst")
    confs: ClassVar[tuple[str, ...]] = ("split_conf",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST
    rereads = ""
    reuse = (Reuse.SAME, Reuse.SAME)

    def infer(self) -> tuple[Spec, ...]:
        return (one_source(self, least=1),)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region,))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.copy(call.y[0], call.x[0])

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted(call.dx, 0)
        return chain() if dx is None else kernels.copy(dx, call.dy[0])
