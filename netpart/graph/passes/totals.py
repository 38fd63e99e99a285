"""Pass: inserts a layer that holds the total of partial sums, cut over the workers that read it (docs/regions.md,
D12).

    N addends on N workers, each of which needs the whole sum T: sent directly, N(N-1)|T| elements.
    With the total between: every worker adds up its share, (N-1)|T|, and all gather the shares, (N-1)|T|.

An all-reduce sends the same number of elements, and the gradient costs the same in backward. The total is the identity,
so nothing else changes. It is inserted only where fewer elements are sent with it, both directions together. Where
every worker has an addend and needs the whole sum, it is not: there the addends are all-reduced anyway (``collect``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from netpart.graph.net import Net, Node, Parameter, Source
from netpart.graph.passes.ask import ShardDemands, collect_demands
from netpart.graph.passes.connect import merge_contained_boxes
from netpart.graph.passes.replica_gradients import GradientPlan, plan_gradients
from netpart.graph.passes.uneven_cuts import cut_extent
from netpart.layers.identity import Identity
from netpart.proto.job_pb2 import LayerProto
from netpart.proto.layer_pb2 import LayerType
from netpart.spec import Placement, Region, Shape, Shard, size, whole_region

TOTAL = "Total"
"""Type of the inserted layers, as drawings show it."""
FEWEST = 3
"""Least number of readers for which a total can pay: between two workers the direct way is as short."""


@dataclass
class PlacedNet:
    """A net with its placements, the demands of its shards and the plan of its gradients."""

    net: Net
    placements: list[Placement]
    answers: ShardDemands
    plan: GradientPlan


def plan_totals(net: Net, placements: list[Placement], workers: int, compact: bool = False) -> PlacedNet:
    """Collect demands and plan gradients of ``net``, with a total after every layer where that sends fewer elements.
    ``compact`` as in ``collect_demands``."""
    direct = _plan_placed_net(net, placements, workers, compact)
    able = [
        node.index
        for node in net.nodes
        # An all-reduce sends as few elements as a total can, so it needs no trial.
        if len(_addend_readers(net, placements, node)) >= FEWEST and not _all_reduced_transfers(direct, node.index)
    ]
    if not able:
        return direct
    # One trial with all candidates, then one plan with those that pay. Two plans are made, not one for each subset.
    trial = _plan_placed_net(*_insert_placed_totals(net, placements, able), workers, compact)
    better = [
        index
        for index in able
        if _moved_elements(trial, net.nodes[index].name) < _moved_elements(direct, net.nodes[index].name)
    ]
    if len(better) == len(able):
        return trial
    return _plan_placed_net(*_insert_placed_totals(net, placements, better), workers, compact) if better else direct


def _plan_placed_net(net: Net, placements: list[Placement], workers: int, compact: bool) -> PlacedNet:
    """Collect the demands of ``net`` and plan its gradients."""
    answers = collect_demands(net, placements, workers, compact)
    return PlacedNet(net, placements, answers, plan_gradients(net, placements, answers))


def _addend_readers(net: Net, placements: list[Placement], node: Node) -> tuple[int, ...]:
    """The workers that read ``node``, ascending, if its parts compute addends; else ()."""
    if len(placements[node.index].terms) < 2:
        return ()
    reading = [n for n in net.nodes if any(s.node == node.index for s in n.sources)]
    return tuple(sorted({w for n in reading for w in placements[n.index].workers}))


def _moved_elements(found: PlacedNet, name: str) -> int:
    """Elements that cross workers from layer ``name`` to its readers, and back, through its total if it has one."""
    node = found.net.by_name[name]
    after = node.index + 1
    total = [after] if after < len(found.net.nodes) and is_total(found.net.nodes[after]) else []
    return sum(_crossing_elements(found, index) for index in [node.index, *total])


def _crossing_elements(found: PlacedNet, index: int) -> int:
    """Elements that leave the shards of one node for other workers, plus the gradients that return."""
    sent = list(_crossing_transfers(found, index))
    if _is_all_reduce(found.placements[index], sent):
        _, _, box, gradient = sent[0]
        return 2 * (len(found.placements[index].shards) - 1) * size(box) * (1 + gradient)
    return sum(size(box) * (1 + gradient) for _, _, box, gradient in sent)


def _all_reduced_transfers(found: PlacedNet, index: int) -> bool:
    """True if the addends of a node are all-reduced as they are."""
    return index in found.answers.sums or _is_all_reduce(
        found.placements[index], list(_crossing_transfers(found, index))
    )


CrossingTransfer = tuple[int, int, Region, bool]
"""(source worker, target worker, box, whether its gradient returns)."""


def _crossing_transfers(found: PlacedNet, index: int) -> Iterator[CrossingTransfer]:
    """Transfers from the shards of one node to other workers, each region once."""
    for shard, demands in zip(found.placements[index].shards, found.answers.demands[index][0], strict=True):
        groups: dict[tuple[int, Region], list[bool]] = {}
        for d in demands:
            groups.setdefault((found.placements[d.reader].shards[d.j].worker, d.box), []).append(d.gradient)
        for (worker, box), gradients in merge_contained_boxes(groups).items():
            if worker != shard.worker:
                yield shard.worker, worker, box, any(gradients)


def _is_all_reduce(placement: Placement, sent: list[CrossingTransfer]) -> bool:
    """True if every worker adds up all of every addend, so that ``collect`` makes an all-reduce of it: 2(N-1)|T|."""
    workers = placement.workers
    regions = {s.region for s in placement.shards}
    everyone = [(s, t) for s in workers for t in workers if s != t]
    alike = len(regions | {box for _, _, box, _ in sent}) == 1 and len({gradient for *_, gradient in sent}) == 1
    return alike and len(workers) == len(placement.shards) and sorted((s, t) for s, t, *_ in sent) == everyone


def _insert_placed_totals(net: Net, placements: list[Placement], summed: Sequence[int]) -> tuple[Net, list[Placement]]:
    """``net`` with totals after the nodes in ``summed``, and the placements: totals evenly over the workers that read
    them."""
    grown = insert_totals(net, summed)
    placed = iter(placements)
    spread = iter(
        [
            even_placement(net.nodes[i].layer.output.shape, _addend_readers(net, placements, net.nodes[i]))
            for i in summed
        ]
    )
    return grown, [next(spread if is_total(node) else placed) for node in grown.nodes]


def insert_totals(net: Net, summed: Sequence[int]) -> Net:
    """``net`` with a total after each node whose index is in ``summed``; readers of the node read the total instead."""
    nodes: list[Node] = []
    index = {node.index: node.index + sum(other < node.index for other in summed) for node in net.nodes}
    read: dict[int, int] = {}
    owned: dict[Parameter, Parameter] = {}
    for node in net.nodes:
        read[node.index] = len(nodes)
        for p in node.params:
            # One new object for each old one: layers that share a parameter are found by its identity.
            owned.setdefault(p, replace(p, owner=index[p.owner]))
        sources = tuple(Source(read[s.node], s.output) for s in node.sources)
        nodes.append(replace(node, index=len(nodes), sources=sources, params=tuple(owned[p] for p in node.params)))
        if node.index in summed:
            read[node.index] = len(nodes)
            nodes.append(build_total_node(net, nodes[-1]))
    return replace(net, nodes=nodes, totals=tuple(summed))


def build_total_node(net: Net, node: Node) -> Node:
    """The total of ``node``, as the next node."""
    name = f"total-{node.name}"
    while name in net.by_name:
        name += "+"
    conf = LayerProto(name=name, type=LayerType.kUserLayer, user_type=TOTAL, srclayers=[node.name])
    return Node(
        node.index + 1, Identity(conf, (node.layer.output,)), (Source(node.index, 0),), (), node.at, inserted=True
    )


def is_total(node: Node) -> bool:
    """True for a node that ``insert_totals`` inserted."""
    return isinstance(node.layer, Identity) and node.conf.user_type == TOTAL


def even_placement(shape: Shape, workers: Sequence[int]) -> Placement:
    """A tensor cut over ``workers`` on its features, or on the batch if that makes the largest part smaller."""
    axis = min([1, 0] if len(shape) > 1 else [0], key=lambda a: -(-shape[a] // len(workers)) / shape[a])
    # Not strict: an axis shorter than the number of workers has fewer parts, and the last workers get none.
    parts = zip(workers, cut_extent(shape[axis], min(shape[axis], len(workers)), spread=True), strict=False)
    region = whole_region(shape)
    return Placement(tuple(Shard(w, (*region[:axis], p, *region[axis + 1 :])) for w, p in parts))
