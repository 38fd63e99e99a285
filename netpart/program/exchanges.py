"""Exchanges: turns the collectives of a graph, and sums of gradients, into instructions over a worker's buffers."""

from __future__ import annotations

from dataclasses import dataclass

from netpart.collectives import GRADIENT
from netpart.graph.graph import Collective
from netpart.program.buffers import View, item_size
from netpart.program.exchange import Exchange, exchange, summed
from netpart.program.instructions import Channel, CollectiveStart
from netpart.program.memory import Memory
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import Collectives, JobProto
from netpart.spec import FLOAT, INT, Region, contains, extent, whole


@dataclass(frozen=True)
class Held:
    """A view and the region of the tensor that it holds; no view holds nothing."""

    view: View | None
    region: Region

    def block(self, block: Region | None) -> View | None:
        """The view of one block, if all of it is held."""
        if self.view is None or block is None or not contains(self.region, block):
            return None
        return self.view.crop(block, self.region)


class Exchanges:
    """Makes exchanges as the job wants them carried out."""

    def __init__(self, job: JobProto) -> None:
        self.wanted = Collectives.Algorithm.Name(job.collectives).lower()
        self.width = float_size(job)

    def of(self, found: Collective, backward: bool = False) -> Exchange:
        """How a collective of a graph, or the way back of its gradient, is carried out."""
        kind = GRADIENT[found.kind] if backward else found.kind
        itemsize = 4 if found.dtype == INT else self.width
        return exchange(kind, found.members, found.region, found.blocks, self.wanted, itemsize)

    def summed(self, members: tuple[int, ...], region: Region, dtype: str = FLOAT) -> Exchange:
        """How a tensor is summed over ``members``."""
        return summed(members, region, self.wanted, item_size(dtype, self.width))

    def start(
        self, found: Exchange, worker: int, local: Held, target: Held, memory: Memory, channel: Channel, name: str
    ) -> CollectiveStart:
        """The instruction with which ``worker`` starts; what it only passes on gets memory of its own."""
        place, kept = found.place(worker), [target.block(b) for b in found.blocks]
        view = local.view or target.view
        for b, block in enumerate(found.blocks):
            if kept[b] is None and block is not None and (place, b) in found.passes:
                kept[b] = memory.new(f"passing {name}", extent(block), self.dtype(memory, view))
        largest = found.largest.get(place, 0)
        pack = memory.new(f"packing {name}", (largest,), self.dtype(memory, view)) if largest else None
        return CollectiveStart(found, tuple(map(local.block, found.blocks)), tuple(kept), pack, channel, name)

    def in_place(
        self, view: View, members: tuple[int, ...], worker: int, memory: Memory, channel: Channel, name: str
    ) -> CollectiveStart:
        """The instruction that sums ``view`` over ``members``."""
        held = Held(view, whole(view.shape))
        found = self.summed(members, held.region, self.dtype(memory, view))
        return self.start(found, worker, held, held, memory, channel, name)

    def dtype(self, memory: Memory, view: View | None) -> str:
        """Element type of what is moved; a worker that only passes floats on has no view of them."""
        return "float" if view is None else memory.buffers[view.buffer].dtype
