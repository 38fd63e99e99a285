"""ExchangeFactory: turns collectives of a graph, and sums of gradients, into instructions over a worker's buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isqrt

import numpy as np

from netpart.collectives import GRADIENT
from netpart.collectives.cluster_network import network_of_hosts
from netpart.collectives.kinds import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER
from netpart.graph.graph import Collective
from netpart.graph.holdings import Bucket
from netpart.program.buffer_table import BufferTable
from netpart.program.buffers import Order, View, item_size
from netpart.program.exchange import KEPT, Blocks, Exchange, Numbers, plan_exchange
from netpart.program.instructions import Channel, CollectiveStart, Way
from netpart.program.memory_orders import order_for_shape
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import Collectives, JobProto
from netpart.spec import FLOAT, Region, extent, whole_region

KEPT_BLOCKS = 1024
"""Collectives whose blocks are kept as views. A program of ResNet-50 has 260 of them; if fewer were kept, none would be
found again for the next worker. Of 1,024 members each takes 100 KiB or so."""


@dataclass(frozen=True)
class HeldRegion:
    """A view and the region of the tensor that it holds; without a view nothing is held."""

    view: View | None
    region: Region

    def held_blocks(self, blocks: Blocks) -> tuple[View | None, ...]:
        """The view of each block, or None unless all of it is held."""
        return (None,) * len(blocks) if self.view is None else _hold_blocks(self.view, self.region, blocks)


class ExchangeFactory:
    """Builder of exchanges with the algorithm and element size that the job sets."""

    def __init__(self, job: JobProto, workers: int = 0) -> None:
        self.wanted = Collectives.Algorithm.Name(job.collectives).lower()
        self.width = float_size(job)
        self.network = network_of_hosts(job.cluster, workers)
        self.known: dict[tuple[Collective, bool], Exchange] = {}
        self.sums: dict[Bucket, dict[Way, Exchange]] = {}

    def of_collective(self, found: Collective, backward: bool = False) -> Exchange:
        """The Exchange of a collective of a graph, or of its gradient if ``backward``: planned once for all workers."""
        key = found, backward
        if key not in self.known:
            self.known[key] = self.plan_collective(found, backward)
        return self.known[key]

    def plan_collective(self, found: Collective, backward: bool) -> Exchange:
        """Plan an Exchange: its blocks are compared one by one, n² of them in an all-to-all."""
        kind = found.kind
        blocks = found.blocks
        if backward:
            kind, blocks = GRADIENT[kind], _transpose_blocks(blocks) if kind == ALL_TO_ALL else blocks
        width = item_size(found.dtype, self.width)
        return plan_exchange(kind, found.members, found.region, blocks, self.wanted, width, self.network)

    def summed(self, members: tuple[int, ...], region: Region, dtype: str = FLOAT) -> Exchange:
        """The Exchange that sums a tensor over ``members``."""
        return plan_exchange(ALL_REDUCE, members, region, (), self.wanted, item_size(dtype, self.width), self.network)

    def of_bucket(self, bucket: Bucket) -> dict[Way, Exchange]:
        """The Exchange that sums a bucket's gradients; of a sharded bucket also the one that gathers new values.

        They are planned once for all who ask this factory.
        """
        if bucket not in self.sums:
            self.sums[bucket] = self.plan_bucket(bucket)
        return self.sums[bucket]

    def plan_bucket(self, bucket: Bucket) -> dict[Way, Exchange]:
        """Plan the Exchanges of a bucket."""
        if not bucket.sharded:
            return {Way.BUCKET: self.summed(bucket.workers, ((0, bucket.elements),))}
        members = bucket.workers
        box = bucket.cells[0].box
        homes = bucket.homes
        itemsize = item_size(FLOAT, self.width)
        scatter, gather = (
            plan_exchange(kind, members, box, homes, self.wanted, itemsize, self.network)
            for kind in (REDUCE_SCATTER, ALL_GATHER)
        )
        return {Way.BUCKET: _answered_exchange(scatter, gather), Way.VALUES: gather}

    def start(
        self, found: Exchange, worker: int, local: HeldRegion, target: HeldRegion, memory: BufferTable, dtype: str,
        channel: Channel,
        name: str, order: Order = (),
    ) -> CollectiveStart:  # fmt: skip
        """The instruction with which ``worker`` starts; blocks that it only forwards get new buffers, in ``order``."""
        place = found.place(worker)
        given = local.held_blocks(found.blocks)
        kept = given if target is local else target.held_blocks(found.blocks)
        passed = {
            b: memory.new(f"passing {name}", extent(block), dtype, order=order_for_shape(order, extent(block)))
            for b, block in enumerate(found.blocks)
            if kept[b] is None and block is not None and (place, b) in found.passes
        }
        if passed:
            kept = tuple(passed.get(b, view) for b, view in enumerate(kept))
        largest = found.largest.get(place, 0)
        pack = memory.new(f"packing {name}", (largest,), dtype) if largest else None
        return CollectiveStart(found, given, kept, pack, dtype, channel, name)

    def in_place(
        self, view: View, members: tuple[int, ...], worker: int, memory: BufferTable, channel: Channel, name: str
    ) -> CollectiveStart:
        """The instruction that sums ``view`` over ``members``."""
        found = self.summed(members, whole_region(view.shape), memory.buffers[view.buffer].dtype)
        return self.start_in_view(found, view, whole_region(view.shape), worker, memory, channel, name)

    def start_in_view(
        self, found: Exchange, view: View, region: Region, worker: int, memory: BufferTable, channel: Channel, name: str
    ) -> CollectiveStart:
        """The instruction that executes ``found`` in place, in ``view``, which holds ``region``."""
        held = HeldRegion(view, region)
        buffer = memory.buffers[view.buffer]
        name = f"{found.kind} {name}"
        return self.start(found, worker, held, held, memory, buffer.dtype, channel, name, buffer.order)


# The workers of a collective hold the same blocks in buffers of the same number: their programs share the views.
@lru_cache(maxsize=KEPT_BLOCKS)
def _hold_blocks(view: View, region: Region, blocks: Blocks) -> tuple[View | None, ...]:
    """``held_blocks`` of a ``view`` that holds ``region``."""
    found: list[View | None] = [None] * len(blocks)
    for b, box in _move_blocks(blocks, region, tuple([lo for lo, _ in view.box])):
        found[b] = view if box == view.box else View(view.buffer, box)
    return tuple(found)


def _move_blocks(blocks: Blocks, region: Region, starts: tuple[int, ...]) -> list[tuple[int, Region]]:
    """Those of ``blocks`` within ``region`` by their index, moved as its lowest corner is moved to ``starts``."""
    offsets = [start - lo for start, (lo, _) in zip(starts, region, strict=True)]
    lows, highs = _block_corners(blocks)
    first, last = np.array(region).reshape(-1, 2).T
    inside = np.flatnonzero(((lows >= first) & (highs <= last)).all(axis=1)).tolist()
    return [(b, _move_block(block, offsets)) for b in inside if (block := blocks[b]) is not None]


@lru_cache(maxsize=16)
def _block_corners(blocks: Blocks) -> tuple[Numbers, Numbers]:
    """[block, axis]: where each block begins, and where it ends; for None it is empty."""
    rank = next((len(block) for block in blocks if block is not None), 0)
    empty = ((0, 0),) * rank
    found = np.array([empty if block is None else block for block in blocks]).reshape(len(blocks), rank, 2)
    return found[..., 0], found[..., 1]


def _move_block(block: Region, offsets: Sequence[int]) -> Region:
    """``block`` moved by ``offsets``."""
    return tuple([(lo + d, hi + d) for (lo, hi), d in zip(block, offsets, strict=True)])


@lru_cache(maxsize=KEPT)
def _answered_exchange(scatter: Exchange, gather: Exchange) -> Exchange:
    """``scatter``, of which ``gather`` returns what was computed from the sums."""
    # The gathered values answer the scattered addends: they prove that the addends have been read.
    return replace(scatter, answer=gather.schedule)


@lru_cache(maxsize=KEPT)
def _transpose_blocks(blocks: Blocks) -> Blocks:
    """The blocks of an all-to-all in the opposite direction: what place i sent to j, j sends to i."""
    n = isqrt(len(blocks))
    return tuple(blocks[j * n + i] for i in range(n) for j in range(n))
