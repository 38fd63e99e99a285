"""Pass: rewrites every edge by one rule, from the demands that ``ask`` collected (docs/regions.md).

    source shard ──▶ Slice (parts of it) or Split (all of it) ──▶ same worker: the reader
                                                              └──▶ BridgeSrc ══▶ BridgeDst ──▶ the reader
    several feeds of one input ──▶ Concate (boxes of one tensor) or Sum (addends) ──▶ the reader

The parts are in one topological order that every worker keeps: arrivals and joins come before their first reader,
slices and sends right after their source. Backward uses the reverse order.
"""

from __future__ import annotations

from typing import TypeVar

from netpart.collectives.kinds import ALL_REDUCE
from netpart.graph.graph import (
    BRIDGE_DST,
    BRIDGE_SRC,
    CONCATE,
    GIVE,
    LAYER,
    SLICE,
    SPLIT,
    SUM,
    TAKE,
    Graph,
    Part,
    PartInput,
)
from netpart.graph.net import Net, Node
from netpart.graph.passes.ask import Demand, InputDemands, ShardDemands
from netpart.graph.passes.live_parts import mark_live_parts
from netpart.graph.passes.replica_gradients import GradientPlan
from netpart.progress import track_items
from netpart.spec import Placement, Region, contains, hull, remaining_boxes, size

T = TypeVar("T")


def connect_parts(
    net: Net, placements: list[Placement], answers: ShardDemands, plan: GradientPlan, workers: int
) -> Graph:
    """Build the partitioned Graph; every part that waits for another worker reads a bridge of its own."""
    graph = Graph(net, workers, placements, full=plan.full, reduced=plan.reduced, agree=plan.agree)
    rewrite = GraphRewrite(graph, answers)
    for node in track_items(net.nodes, f"{net.phase} net: layer", len(net.nodes)):
        rewrite.add_shards(node)
        rewrite.fan_out(node)
    mark_live_parts(graph)
    return graph


class GraphRewrite:
    """The rewrite in progress: the graph so far, the names in use, and the shards of every node."""

    def __init__(self, graph: Graph, answers: ShardDemands) -> None:
        self.graph = graph
        self.answers = answers
        self.names: set[str] = set()
        self.shards: list[list[Part]] = []
        self.targets: dict[tuple[int, int, int], str] = {}
        self.places = 0
        self.splits: dict[tuple[int, int], Part] = {}

    def add(self, part: Part, feeds: list[PartInput], places: int = 1) -> Part:
        """Append ``part``, which stands for ``places`` parts of the order."""
        part.index = self.places
        self.places += places
        part.feeds = feeds
        self.graph.parts.append(part)
        return part

    def unique(self, name: str) -> str:
        """``name``, with a numeric suffix if it is in use."""
        candidate, n = name, 0
        while candidate in self.names:
            n += 1
            candidate = f"{name}+{n}"
        self.names.add(candidate)
        return candidate

    def shard_name(self, node: Node, j: int) -> str:
        several = len(self.graph.placements[node.index].shards) > 1
        return f"{node.name}-{j:02d}" if several else node.name

    def add_shards(self, node: Node) -> None:
        """Add for each shard the bridges that it waits for, the parts that join its feeds, and the shard itself."""
        placement = self.graph.placements[node.index]
        self.shards.append([])
        for j, shard in enumerate(placement.shards):
            inputs = [self.joined(node, j, k, feeds) for k, feeds in enumerate(self.answers.feeds[node.index][j])]
            name = self.unique(self.shard_name(node, j))
            part = Part(LAYER, name, shard.worker, node.index, shard.region, shard=j)
            part.term = shard.term
            self.shards[-1].append(self.add(part, [f for f in inputs if f is not None]))
        if node.layer.metrics:
            _assign_loss_boxes(placement, self.shards[-1])

    def joined(self, node: Node, j: int, k: int, feeds: InputDemands) -> PartInput | None:
        """The single edge that feeds input ``k`` of shard ``j``, through a Concate or Sum if there are several."""
        edges = [PartInput(self.arrive(d), d.box, k, self.output_at(node, k, d), d.gradient) for _, d in feeds]
        source = node.sources[k]
        if source.node in self.answers.sums:
            edges = self.taken_sum(node, j, source.node)
        if len(edges) <= 1:
            return edges[0] if edges else None
        kind = self.join_kind(node, k)
        need = hull([edge.region for edge in edges])
        worker = self.graph.placements[node.index].shards[j].worker
        part = Part(kind, self.unique(self.gather_name(node, j, k, kind)), worker, source.node, need, source.output)
        for edge in edges:
            # The join has one input; ``k`` counts the inputs of the layer, which now reads the join.
            edge.k = 0
        self.add(part, edges)
        return PartInput(part, need, k, gradient=any(e.gradient for e in edges))

    def output_at(self, node: Node, k: int, demand: Demand) -> int:
        """Output of the part that ``demand`` arrives from; only a layer part has several."""
        part = demand.arrival
        return node.sources[k].output if isinstance(part, Part) and part.kind == LAYER else 0

    def join_kind(self, node: Node, k: int) -> str:
        """The kind of helper that joins several feeds of an input: a Sum if the source's shards are addends, else a
        Concate."""
        return SUM if len(self.graph.placements[node.sources[k].node].terms) > 1 else CONCATE

    def gather_name(self, node: Node, j: int, k: int, kind: str) -> str:
        return f"{kind}-{self.shard_name(node, j)}" + (f"-{k}" if k else "")

    def target_name(self, demand: Demand) -> str:
        """The name of the part that reads ``demand``: the shard, or what joins the feeds of its input."""
        key = demand.reader, demand.j, demand.k
        if key not in self.targets:
            reader = self.graph.net.nodes[demand.reader]
            joins = len(self.answers.feeds[demand.reader][demand.j][demand.k]) > 1
            named = self.gather_name(reader, demand.j, demand.k, self.join_kind(reader, demand.k)) if joins else ""
            self.targets[key] = named or self.shard_name(reader, demand.j)
        return self.targets[key]

    def arrive(self, demand: Demand) -> Part:
        """The part that supplies ``demand``; a BridgeDst is added to the order here, before its first reader."""
        part = demand.arrival
        assert isinstance(part, Part)
        # ``bridge`` made this part without an index. Placed this late, a worker sends and computes all that precedes
        # its first reader before it waits for the message.
        if part.index < 0:
            self.add(part, part.feeds)
        return part

    def taken_sum(self, node: Node, j: int, source: int) -> list[PartInput]:
        """What shard ``j`` adds up of a complete sum: its own worker's addend, and a Take for all others."""
        found = self.answers.sums[source]
        worker = self.graph.placements[node.index].shards[j].worker
        take = self.sum_end(TAKE, source, worker)
        self.add(take, [], found.bridges)
        gradient = self.graph.net.carries_gradient(node, found.k)
        return [PartInput(part, take.region, 0, 0, gradient) for part in (self.splits[source, worker], take)]

    def give_addend(self, node: Node, part: Part) -> None:
        """Give the addend ``part`` of a complete sum to all others: a Split, and a Give in place of its bridges."""
        found = self.answers.sums[node.index]
        gradient = self.graph.net.carries_gradient(self.graph.net.nodes[found.reader], found.k)
        split = Part(SPLIT, self.unique(f"{SPLIT}-{part.name}"), part.worker, node.index, part.region)
        self.splits[node.index, part.worker] = self.add(split, [PartInput(part, part.region, 0, 0, gradient)])
        give = self.sum_end(GIVE, node.index, part.worker)
        self.add(give, [PartInput(split, part.region, 0, 0, gradient)], found.bridges)

    def sum_end(self, kind: str, source: int, worker: int) -> Part:
        """The Give or Take of a worker for a complete sum."""
        name = f"{ALL_REDUCE} {self.graph.net.nodes[source].layer.name}"
        return Part(kind, name, worker, source, self.graph.placements[source].shards[0].region)

    def fan_out(self, node: Node) -> None:
        for j, part in enumerate(self.shards[node.index]):
            if node.index in self.answers.sums:
                self.give_addend(node, part)
                continue
            for output, of_output in enumerate(self.answers.demands[node.index]):
                self.send_output(node, part, output, self.answers.regions[node.index][output][j], of_output[j])

    def send_output(self, node: Node, part: Part, output: int, region: Region, demands: list[Demand]) -> None:
        """Send one shard's output to all its readers: directly, cut by a Slice, copied by a Split, or over bridges."""
        rest = [d for d in demands if not self.is_direct(part, region, d, demands)]
        for d in demands:
            d.arrival = part
        if not rest:
            return
        out = self.outlet(node, part, output, region, rest)
        # By worker and box: a region crosses to a worker once, however many parts read it there.
        groups: dict[tuple[int, Region], list[Demand]] = {}
        for d in rest:
            worker = self.graph.placements[d.reader].shards[d.j].worker
            groups.setdefault((worker, d.box), []).append(d)
        for (worker, box), group in merge_contained_boxes(groups).items():
            here = out if worker == part.worker else self.bridge(out, worker, box, group, output)
            for d in group:
                d.arrival = here

    def is_direct(self, part: Part, region: Region, d: Demand, demands: list[Demand]) -> bool:
        """True if the reader can read the shard itself, whatever other readers the shard has. It must be on the same
        worker, need the whole region, have no other feed for this input, and be the one shard of its layer that reads
        this input here (docs/regions.md, D19)."""
        if d.box != region or self.graph.placements[d.reader].shards[d.j].worker != part.worker:
            return False
        if len(self.answers.feeds[d.reader][d.j][d.k]) != 1:
            return False
        return len(demands) == 1 or not any(o is not d and o.reader == d.reader and o.k == d.k for o in demands)

    def outlet(self, node: Node, part: Part, output: int, region: Region, rest: list[Demand]) -> Part:
        """The Slice or Split that serves ``rest``, or the shard itself if a single reader needs all of it."""
        cuts = any(d.box != region for d in rest)
        if not cuts and len(rest) == 1:
            return part
        kind = SLICE if cuts else SPLIT
        suffix = f".{node.layer.output_names[output]}" if output else ""
        out = Part(kind, self.unique(f"{kind}-{part.name}{suffix}"), part.worker, node.index, region, output)
        return self.add(out, [PartInput(part, region, 0, output, any(d.gradient for d in rest))])

    def bridge(self, out: Part, worker: int, box: Region, group: list[Demand], output: int) -> Part:
        """Add the sending half and prepare the receiving half of one bridge; ``arrive`` adds that before its first
        reader."""
        first = group[0]
        gradient = any(d.gradient for d in group)
        name = self.unique(f"s-{out.name}-{self.target_name(first)}")
        sender = Part(BRIDGE_SRC, name, out.worker, out.node, box, output)
        from_output = output if out.kind == LAYER else 0
        self.add(sender, [PartInput(out, box, 0, from_output, gradient)])
        receiver = Part(BRIDGE_DST, self.unique("d" + name[1:]), worker, out.node, box, output)
        receiver.feeds = [PartInput(sender, box, 0, 0, gradient)]
        sender.peer = receiver
        receiver.peer = sender
        return receiver


def merge_contained_boxes(groups: dict[tuple[int, Region], list[T]]) -> dict[tuple[int, Region], list[T]]:
    """Join each box with the largest box for the same worker that contains it, so that no element is sent twice."""
    boxes: dict[int, list[Region]] = {}
    for worker, box in groups:
        boxes.setdefault(worker, []).append(box)
    joined: dict[tuple[int, Region], list[T]] = {}
    for (worker, box), group in groups.items():
        others = boxes[worker]
        wide = box if len(others) == 1 else max((o for o in others if contains(o, box)), key=size)
        joined.setdefault((worker, wide), []).extend(group)
    return joined


def _assign_loss_boxes(placement: Placement, shards: list[Part]) -> None:
    """Assign each element of a loss to the first shard that holds it, so that it counts once (D10)."""
    done: list[Region] = []
    for part in shards:
        members = placement.classes[part.region, part.term]
        part.reports = members[0] == part.shard
        if not placement.exact:
            part.owned = remaining_boxes(part.region, done) if part.reports else ()
        done.append(part.region)
