"""Pass: a layer that holds the total of partial sums, cut over the workers that read it (regions.md, D12).

    N addends on N workers, each of which needs the whole sum T: sent directly, N(N-1)|T| elements.
    With the total between: every worker adds up its share, (N-1)|T|, and all gather the shares, (N-1)|T|.

That is what an all-reduce sends, and the gradient costs the same on its way back. The total is the identity, so
nothing else changes. It is put behind a layer only where less is sent with it, both directions together: not where the
addends are all-reduced anyway, for every worker has one and needs the whole sum (``collect``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from netpart.graph.net import Net, Node, Parameter, Source
from netpart.graph.passes.ask import ShardDemands, collect_demands
from netpart.graph.passes.connect import merge_contained_boxes
from netpart.graph.passes.cuts import cut_extent
from netpart.graph.passes.gradients import GradientPlan, plan_gradients
from netpart.layers.identity import Identity
from netpart.proto.job_pb2 import LayerProto
from netpart.proto.layer_pb2 import LayerType
from netpart.spec import Placement, Region, Shape, Shard, size, whole_region

TOTAL = "Total"
"""Type of the inserted layers, as drawings show it."""
FEWEST = 3
"""Readers for whom the total can pay: between two workers the direct way is as short."""


@dataclass
class PlacedNet:
    """A net with its placements and the answers about them."""

    net: Net
    placements: list[Placement]
    answers: ShardDemands
    plan: GradientPlan


def plan_totals(net: Net, placements: list[Placement], workers: int) -> PlacedNet:
    """Asks ``net``, with a total behind every layer where that sends less."""
    direct = _plan_placed_net(net, placements, workers)
    able = [node.index for node in net.nodes if len(_addend_readers(net, placements, node)) >= FEWEST]
    if not able:
        return direct
    trial = _plan_placed_net(*_insert_placed_totals(net, placements, able), workers)
    better = [
        index
        for index in able
        if _moved_elements(trial, net.nodes[index].name) < _moved_elements(direct, net.nodes[index].name)
    ]
    if len(better) == len(able):
        return trial
    return _plan_placed_net(*_insert_placed_totals(net, placements, better), workers) if better else direct


def _plan_placed_net(net: Net, placements: list[Placement], workers: int) -> PlacedNet:
    """Asks ``net`` and plans its gradients."""
    answers = collect_demands(net, placements, workers)
    return PlacedNet(net, placements, answers, plan_gradients(net, placements, answers))


def _addend_readers(net: Net, placements: list[Placement], node: Node) -> tuple[int, ...]:
    """The workers that read ``node``, ascending, if its parts compute addends; else none."""
    if len(placements[node.index].terms) < 2:
        return ()
    reading = [n for n in net.nodes if any(s.node == node.index for s in n.sources)]
    return tuple(sorted({w for n in reading for w in placements[n.index].workers}))


def _moved_elements(found: PlacedNet, name: str) -> int:
    """Elements that cross workers on their way from layer ``name`` to its readers, and back."""
    node = found.net.by_name[name]
    behind = node.index + 1
    total = [behind] if behind < len(found.net.nodes) and is_total(found.net.nodes[behind]) else []
    return sum(_crossing_elements(found, index) for index in [node.index, *total])


def _crossing_elements(found: PlacedNet, index: int) -> int:
    """Elements that leave the shards of one node for other workers, and whose gradients return."""
    sent = list(_crossing_transfers(found, index))
    if _is_all_reduce(found.placements[index], sent):
        _, _, box, gradient = sent[0]
        return 2 * (len(found.placements[index].shards) - 1) * size(box) * (1 + gradient)
    return sum(size(box) * (1 + gradient) for _, _, box, gradient in sent)


CrossingTransfer = tuple[int, int, Region, bool]
"""From one worker to another, what, and whether its gradient returns."""


def _crossing_transfers(found: PlacedNet, index: int) -> Iterator[CrossingTransfer]:
    """What leaves the shards of one node for other workers, each region once."""
    for shard, demands in zip(found.placements[index].shards, found.answers.demands[index][0], strict=True):
        groups: dict[tuple[int, Region], list[bool]] = {}
        for d in demands:
            groups.setdefault((found.placements[d.reader].shards[d.j].worker, d.box), []).append(d.gradient)
        for (worker, box), gradients in merge_contained_boxes(groups).items():
            if worker != shard.worker:
                yield shard.worker, worker, box, any(gradients)


def _is_all_reduce(placement: Placement, sent: list[CrossingTransfer]) -> bool:
    """True if every worker adds up all of every addend, an all-reduce to ``collect``: 2(N-1)|T|."""
    workers = placement.workers
    regions = {s.region for s in placement.shards}
    everyone = [(s, t) for s in workers for t in workers if s != t]
    alike = len(regions | {box for _, _, box, _ in sent}) == 1 and len({gradient for *_, gradient in sent}) == 1
    return alike and len(workers) == len(placement.shards) and sorted((s, t) for s, t, *_ in sent) == everyone


def _insert_placed_totals(net: Net, placements: list[Placement], behind: Sequence[int]) -> tuple[Net, list[Placement]]:
    """``net`` with totals behind some of its nodes, and their placements: evenly over the workers that read them."""
    grown = insert_totals(net, behind)
    placed = iter(placements)
    spread = iter(
        [
            even_placement(net.nodes[i].layer.output.shape, _addend_readers(net, placements, net.nodes[i]))
            for i in behind
        ]
    )
    return grown, [next(spread if is_total(node) else placed) for node in grown.nodes]


def insert_totals(net: Net, behind: Sequence[int]) -> Net:
    """``net`` with a total behind each node whose index is in ``behind``; its readers read the total instead."""
    nodes: list[Node] = []
    index = {node.index: node.index + sum(other < node.index for other in behind) for node in net.nodes}
    read: dict[int, int] = {}
    owned: dict[Parameter, Parameter] = {}
    for node in net.nodes:
        read[node.index] = len(nodes)
        for p in node.params:
            owned.setdefault(p, replace(p, owner=index[p.owner]))
        sources = tuple(Source(read[s.node], s.output) for s in node.sources)
        nodes.append(replace(node, index=len(nodes), sources=sources, params=tuple(owned[p] for p in node.params)))
        if node.index in behind:
            read[node.index] = len(nodes)
            nodes.append(_total_node(net, nodes[-1]))
    return replace(net, nodes=nodes, totals=tuple(behind))


def _total_node(net: Net, node: Node) -> Node:
    """The total behind ``node``."""
    name = f"total-{node.name}"
    while name in net.by_name:
        name += "+"
    conf = LayerProto(name=name, type=LayerType.kUserLayer, user_type=TOTAL, srclayers=[node.name])
    return Node(
        node.index + 1, Identity(conf, (node.layer.output,)), (Source(node.index, 0),), (), node.at, inserted=True
    )


def is_total(node: Node) -> bool:
    """True for what ``insert_totals`` inserts."""
    return isinstance(node.layer, Identity) and node.conf.user_type == TOTAL


def even_placement(shape: Shape, workers: Sequence[int]) -> Placement:
    """A tensor cut over ``workers`` on its features or, where that makes the largest part smaller, on the batch."""
    axis = min([1, 0] if len(shape) > 1 else [0], key=lambda a: -(-shape[a] // len(workers)) / shape[a])
    parts = zip(workers, cut_extent(shape[axis], min(shape[axis], len(workers)), spread=True), strict=False)
    region = whole_region(shape)
    return Placement(tuple(Shard(w, (*region[:axis], p, *region[axis + 1 :])) for w, p in parts))
