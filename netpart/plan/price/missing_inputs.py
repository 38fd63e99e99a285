"""Missing inputs: the bytes that some workers read of each output of a net, and that no shard there holds.

Many layers of a net are alike, and so are their placements: each such combination is looked at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from netpart.box_index import BoxIndex
from netpart.graph.net import Net, Node, Source
from netpart.graph.passes.complete_sums import find_complete_sums
from netpart.plan.price.like_layers import LikeLayers
from netpart.plan.price.net_profile import Floats
from netpart.program.buffers import item_size
from netpart.spec import RECORD, Placement, Region, Shard, intersect, size

Tensor = tuple[int, int]
"""The index of a node, and one of its outputs."""


@dataclass
class MissingInputs:
    """What the ``watched`` workers miss of a net with these placements, of which equal ones are one object."""

    net: Net
    placements: Sequence[Placement]
    watched: Sequence[int]
    width: int
    layers: LikeLayers
    held: dict[int, dict[int, list[Shard]]] = field(default_factory=dict)

    @cached_property
    def by_output(self) -> dict[Tensor, Floats]:
        """The bytes that each watched worker misses of each output that some worker reads."""
        known: dict[Hashable, Floats] = {}
        found: dict[Tensor, Floats] = {}
        for (n, output), reading in self.readers.items():
            for reader, k in reading if self.net.element(n, output) != RECORD else ():
                key = self.combination(reader, k)
                if key not in known:
                    known[key] = self.missing_bytes(reader, k)
                found[n, output] = np.maximum(found.get((n, output), 0.0), known[key])
        return found

    @cached_property
    def readers(self) -> dict[Tensor, list[tuple[Node, int]]]:
        """The nodes that read each output, and by which of their inputs."""
        found: dict[Tensor, list[tuple[Node, int]]] = defaultdict(list)
        for node in self.net.nodes:
            for k, source in enumerate(node.sources):
                found[source.node, source.output].append((node, k))
        return found

    def combination(self, reader: Node, k: int) -> Hashable:
        """Equal for inputs of which each worker misses the same."""
        source = reader.sources[k]
        read = self.layers.kind(self.net.nodes[source.node].layer), id(self.placements[source.node]), source.output
        element = self.net.element(source.node, source.output)
        return self.layers.kind(reader.layer), id(self.placements[reader.index]), k, read, element

    def missing_bytes(self, reader: Node, k: int) -> Floats:
        """The most bytes that a shard of ``reader`` on each watched worker misses of input ``k``."""
        source = reader.sources[k]
        nbytes = item_size(self.net.element(source.node, source.output), self.width)
        found = dict.fromkeys(self.watched, 0)
        for shard in self.shards(self.placements[reader.index]):
            found[shard.worker] = max(found[shard.worker], self.missed_elements(reader, shard, k))
        return nbytes * np.array([found[worker] for worker in self.watched], float)

    def message_count(self) -> int:
        """About how many regions of other workers all workers read: as many as a rewrite has bridges, without those of
        the totals that it inserts. What several layers read of an output comes once; complete sums have no bridges
        where nothing is drawn."""
        complete = find_complete_sums(self.net, list(self.placements))
        known: dict[Hashable, float] = {}
        found = 0.0
        for (n, output), reading in self.readers.items():
            if n in complete or self.net.element(n, output) == RECORD:
                continue
            keys = [self.combination(reader, k) for reader, k in reading]
            for key, (reader, k) in zip(keys, reading, strict=True):
                if key not in known:
                    known[key] = self.mean_messages(reader, k) * len(self.placements[reader.index].shards)
            found += max(known[key] for key in keys)
        return round(found)

    def mean_messages(self, reader: Node, k: int) -> float:
        """How many regions on other workers a shard of ``reader`` reads by input ``k``, in the mean of those
        watched."""
        source = reader.sources[k]
        placement, layer = self.placements[source.node], self.net.nodes[source.node].layer
        regions = [layer.outputs_of(shard.region)[source.output] for shard in placement.shards]
        index = BoxIndex(regions)
        shards = self.shards(self.placements[reader.index])
        found = 0
        for shard in shards:
            need = self.layers.needs(reader.layer, shard).inputs[k]
            read = index.find_touching(need) if need is not None and self.missed_elements(reader, shard, k) else []
            # Replicas hold the same, of which one is read, or none if this worker has it.
            here = {(regions[i], placement.shards[i].term) for i in read if placement.shards[i].worker == shard.worker}
            found += len({(regions[i], placement.shards[i].term) for i in read} - here)
        return found / max(1, len(shards))

    def missed_elements(self, reader: Node, shard: Shard, k: int) -> int:
        """The elements of input ``k`` that a shard needs from other workers."""
        need = self.layers.needs(reader.layer, shard).inputs[k]
        if need is None or not size(need):
            return 0
        return self.missing_elements(reader.sources[k], shard.worker, need)

    def missing_elements(self, source: Source, worker: int, need: Region) -> int:
        """The elements of ``need`` that come from other workers: all if an addend is only there."""
        placement, layer = self.placements[source.node], self.net.nodes[source.node].layer
        here = self.by_worker(placement).get(worker, [])
        if len(placement.terms) > 1:
            return 0 if {shard.term for shard in here} == placement.terms.keys() else size(need)
        boxes = (intersect(need, layer.outputs_of(shard.region)[source.output]) for shard in here)
        return max(0, size(need) - sum(size(box) for box in boxes if box is not None))

    def shards(self, placement: Placement) -> list[Shard]:
        """The shards of a placement on watched workers."""
        held = self.by_worker(placement)
        return [shard for worker in self.watched for shard in held.get(worker, ())]

    def present(self, placement: Placement) -> list[bool]:
        """Of each watched worker, whether it has a shard of a placement."""
        held = self.by_worker(placement)
        return [worker in held for worker in self.watched]

    def by_worker(self, placement: Placement) -> dict[int, list[Shard]]:
        """The shards of a placement, by worker."""
        if id(placement) not in self.held:
            found: dict[int, list[Shard]] = defaultdict(list)
            for shard in placement.shards:
                found[shard.worker].append(shard)
            self.held[id(placement)] = found
        return self.held[id(placement)]
