"""Pass: decides which replicas hold whole gradients and which readers send theirs back (docs/regions.md, D9).

A replica's gradient is *partial* if it receives only the gradients of its own readers, *full* if it receives all.
Readers that are full send back once per class of replicas; this pass mutes the others.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from netpart.graph.net import Net
from netpart.graph.passes.ask import Demand, ShardDemands
from netpart.spec import Placement, Region

ReaderKey = tuple[int, int, int, tuple[Region, Region | None], Region]


@dataclass
class GradientPlan:
    """Per node: properties of the gradients that its replicas hold.

    ``full``: every replica holds the whole gradient of its region; ``reduced``: it does so because the replicas of a
    class all-reduce their partial gradients; ``agree``: it holds the same bits as the other replicas.
    """

    full: list[bool]
    reduced: list[bool]
    agree: list[bool] = field(default_factory=list)


def plan_gradients(net: Net, placements: list[Placement], answers: ShardDemands) -> GradientPlan:
    """Mute demands whose gradient another replica already returns; return what the replicas of each node hold."""
    full = [False] * len(net.nodes)
    reduced = [False] * len(net.nodes)
    # In reverse, because whether a node is full depends on whether its readers are.
    for node in reversed(net.nodes):
        placement = placements[node.index]
        demands = [[d for d in of_shard if d.gradient] for of_shard in merge_demands(answers.demands[node.index])]
        if placement.has_no_replicas:
            full[node.index] = True
            _mute_reader_replicas(placement, placements, demands, full, own_worker=True)
            continue
        paired = placement.exact and _is_paired(placement, placements, demands, full)
        # A loss needs no sum: each of its replicas computes the whole gradient from its own copy of the inputs.
        reduced[node.index] = placement.exact and placement.sum_gradient and not paired and not node.layer.is_loss
        full[node.index] = paired or reduced[node.index] or (placement.exact and node.layer.is_loss)
        if not paired:
            _mute_reader_replicas(placement, placements, demands, full, own_worker=False)
    return GradientPlan(full, reduced)


def merge_demands(demands: list[list[list[Demand]]]) -> list[list[Demand]]:
    """Demands per shard over all outputs of a node (only float outputs carry gradients)."""
    if len(demands) == 1:
        return demands[0]
    return [[d for output in demands for d in output[s]] for s in range(len(demands[0]))]


def reader_class(placements: list[Placement], d: Demand) -> tuple[Region, Region | None]:
    """Region and term of the reader, which are equal for all its replicas."""
    shard = placements[d.reader].shards[d.j]
    return shard.region, shard.term


def _is_paired(
    placement: Placement, placements: list[Placement], demands: list[list[Demand]], full: list[bool]
) -> bool:
    """True if all readers are full and every replica of a class is read by each reader class exactly once."""
    if not all(full[d.reader] for of_shard in demands for d in of_shard):
        return False
    for members in placement.classes.values():
        met = [Counter((d.reader, d.k, reader_class(placements, d), d.box) for d in demands[i]) for i in members]
        if any(m != met[0] or any(n > 1 for n in m.values()) for m in met):
            return False
    return True


def _mute_reader_replicas(
    placement: Placement, placements: list[Placement], demands: list[list[Demand]], full: list[bool], own_worker: bool
) -> None:
    """Keep, for each full reader class and box, one member that sends back: on the source's worker, or else the first.

    If the source has replicas (``own_worker`` False), it is always the first member, whichever replica it reads.
    """
    everyone = [(s, d) for s, of_shard in enumerate(demands) for d in of_shard if full[d.reader]]
    if all(placements[r].has_no_replicas for r in {d.reader for _, d in everyone}):
        return
    senders: dict[ReaderKey, int] = {}
    for s, d in everyone:
        members = placements[d.reader].members_by_worker[reader_class(placements, d)]
        # A local member is preferred because its gradient need not cross workers. For a source with replicas all shards
        # must choose the same member: otherwise two replicas would receive the same gradient.
        here = placement.shards[s].worker if own_worker else None
        chosen = members[here] if here in members else next(iter(members.values()))
        senders[s, d.reader, d.k, reader_class(placements, d), d.box] = chosen
    for s, d in everyone:
        d.gradient = senders[s, d.reader, d.k, reader_class(placements, d), d.box] == d.j
