"""Pass: which replicas hold whole gradients, and which readers send theirs back (regions.md, D9).

A replica's gradient is *partial* when it hears only from its own readers, *full* when it hears everything.
Readers that are full must send back once per class; the others are muted here.
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
    """Per node: ``full``, every replica holds the whole gradient of its region; ``reduced``, it does so
    because the replicas of a class all-reduce their partial ones; ``agree``, it holds the same bits as the others."""

    full: list[bool]
    reduced: list[bool]
    agree: list[bool] = field(default_factory=list)


def plan_gradients(net: Net, placements: list[Placement], answers: ShardDemands) -> GradientPlan:
    """Mutes demands whose gradient another replica already returns; says what each node's replicas hold."""
    full = [False] * len(net.nodes)
    reduced = [False] * len(net.nodes)
    for node in reversed(net.nodes):
        placement = placements[node.index]
        demands = [[d for d in of_shard if d.gradient] for of_shard in merge_demands(answers.demands[node.index])]
        if placement.has_no_replicas:
            full[node.index] = True
            _mute_reader_replicas(placement, placements, demands, full, own_worker=True)
            continue
        paired = placement.exact and _is_paired(placement, placements, demands, full)
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
    """Region and term of the reader: its replicas have the same."""
    shard = placements[d.reader].shards[d.j]
    return shard.region, shard.term


def _is_paired(
    placement: Placement, placements: list[Placement], demands: list[list[Demand]], full: list[bool]
) -> bool:
    """True if all readers are full and every replica of a class meets each reader class exactly once."""
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
    """Lets one member of each full reader class send back, for each box: on the source's worker, or else the first.

    With replicas at the source (``own_worker`` False) that is always the first, whichever replica it reads.
    """
    everyone = [(s, d) for s, of_shard in enumerate(demands) for d in of_shard if full[d.reader]]
    if all(placements[r].has_no_replicas for r in {d.reader for _, d in everyone}):
        return
    spoken: dict[ReaderKey, int] = {}
    for s, d in everyone:
        shards = placements[d.reader].shards
        members = placements[d.reader].classes[reader_class(placements, d)]
        local = [j for j in members if shards[j].worker == placement.shards[s].worker] if own_worker else []
        spoken[s, d.reader, d.k, reader_class(placements, d), d.box] = (local or members)[0]
    for s, d in everyone:
        d.gradient = spoken[s, d.reader, d.k, reader_class(placements, d), d.box] == d.j
