"""Complete sums: layers of which each of n workers computes one addend, and each of the same workers needs the sum.

The moments of a batch norm that is cut on the batch are such a layer. Bridge by bridge, its sum has n (n - 1) pairs of
parts. A compact graph has a Give and a Take for each worker instead, the two that a worker compiles in any case
(``netpart/program/give_take.py``). They have the indices of the parts that they replace, so equal Programs follow.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from netpart.graph.net import Net, Node
from netpart.spec import RECORD, Placement


class CompleteSum(NamedTuple):
    """The sum of the addends of node ``source``, for input ``k`` of node ``reader``, its only one, among ``members``
    workers."""

    source: int
    reader: int
    k: int
    members: int

    @property
    def bridges(self) -> int:
        """The bridges from one worker, or to one."""
        return self.members - 1


def find_complete_sums(net: Net, placements: list[Placement]) -> dict[int, CompleteSum]:
    """The complete sums of ``net``, by their sources."""
    read: dict[int, list[tuple[Node, int]]] = defaultdict(list)
    for node in net.nodes:
        for k, source in enumerate(node.sources):
            read[source.node].append((node, k))
    return {
        index: CompleteSum(index, reader.index, k, len(placements[index].shards))
        for index, ((reader, k), *others) in read.items()
        if not others and _is_complete(net.nodes[index], placements[index], reader, placements[reader.index], k)
    }


def _is_complete(source: Node, addends: Placement, reader: Node, readers: Placement, k: int) -> bool:
    """True if each worker of ``addends`` has one addend of the whole output, and one reader, which needs all of it."""
    count = len(addends.shards)
    whole = addends.shards[0].region
    each_one = count > 1 and count == len(addends.workers) == len(addends.terms) == len(readers.shards)
    return (
        each_one
        and addends.workers == readers.workers
        and readers.has_no_replicas
        and len(source.layer.outputs) == 1
        and source.layer.output.dtype != RECORD
        and all(shard.region == whole for shard in addends.shards)
        and all(reader.layer.needs(shard.region, shard.term).inputs[k] == whole for shard in readers.shards)
    )
