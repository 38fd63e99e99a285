"""Pass: collects what every shard needs and which shard supplies it. The rest of the rewrite works from its result
alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from netpart.graph.net import Net
from netpart.graph.passes.complete_sums import CompleteSum, find_complete_sums
from netpart.graph.passes.cover import RegionCover
from netpart.progress import track_items
from netpart.spec import Placement, Region


class Demand:
    """Shard ``j`` of node ``reader`` needs ``box`` of a source shard for its input ``k``.

    ``gradient``: the reader returns the gradient of the box. ``arrival`` is set by the rewrite: the part that supplies
    it.
    """

    __slots__ = ("arrival", "box", "gradient", "j", "k", "reader")

    def __init__(self, reader: int, j: int, k: int, box: Region, gradient: bool) -> None:
        self.reader = reader
        self.j = j
        self.k = k
        self.box = box
        self.gradient = gradient
        self.arrival: object = None


InputDemands = list[tuple[int, Demand]]
"""(source shard, demand) of one input of one shard, in position order."""


@dataclass
class ShardDemands:
    """The demands between all shards of a net.

    ``regions[node][output][shard]`` is the region that each shard holds of each output;
    ``demands[node][output][shard]`` lists the demands of its readers, in net order; ``feeds[node][shard][k]`` lists
    what feeds input k. ``sums`` are the complete sums, by source, of which no demands are listed.
    """

    regions: list[list[list[Region]]] = field(default_factory=list)
    demands: list[list[list[list[Demand]]]] = field(default_factory=list)
    feeds: list[list[list[InputDemands]]] = field(default_factory=list)
    sums: dict[int, CompleteSum] = field(default_factory=dict)


def collect_demands(net: Net, placements: list[Placement], workers: int, compact: bool = False) -> ShardDemands:
    """Collect the demands of every shard on the shards of its sources, in net order; with ``compact`` without those of
    complete sums."""
    answers = ShardDemands(sums=find_complete_sums(net, placements) if compact else {})
    covers: dict[tuple[int, int, int], RegionCover] = {}
    for node in track_items(net.nodes, f"{net.phase} net: needs of layer", len(net.nodes)):
        placement = placements[node.index]
        outputs = len(node.layer.outputs)
        held = [node.layer.outputs_of(s.region) for s in placement.shards]
        answers.regions.append([[h[o] for h in held] for o in range(outputs)])
        answers.demands.append([[[] for _ in placement.shards] for _ in range(outputs)])
        answers.feeds.append([])
        gradient = [net.carries_gradient(node, k) for k in range(len(node.sources))]
        for j, shard in enumerate(placement.shards):
            needs = node.layer.needs(shard.region, shard.term).inputs
            feeds: list[InputDemands] = []
            for k, need in enumerate(needs):
                source = node.sources[k]
                feeds.append([])
                if need is None or source.node in answers.sums or any(lo >= hi for lo, hi in need):
                    continue
                # Equal placements are one object (``place_layers`` interns them), so layers with the same placement
                # share a cover. The regions of output 0 depend on the placement alone; those of other outputs also on
                # the layer.
                key = (id(placements[source.node]), source.node if source.output else -1, source.output)
                cover = covers.get(key)
                if cover is None:
                    regions = answers.regions[source.node][source.output]
                    cover = covers[key] = RegionCover(placements[source.node], regions, workers)
                for s, box in cover.supply(need, shard.worker):
                    demand = Demand(node.index, j, k, box, gradient[k])
                    feeds[k].append((s, demand))
                    answers.demands[source.node][source.output][s].append(demand)
            answers.feeds[node.index].append(feeds)
    return answers
