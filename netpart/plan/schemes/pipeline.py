"""PIPELINE: the layers one after another in stages of about equal work, each stage on workers of its own.

N workers make K stages of R = N / K replicas; the replicas of a stage cut its layers on the batch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from netpart.graph.net import Net, Node
from netpart.plan.schemes.placing import BATCH, cut_on, readers
from netpart.spec import Placement


def pipeline(net: Net, workers: int) -> list[Placement]:
    """A stage for every worker. Sends 2b times what a row has of elements at each boundary, and the labels."""
    return staged(balanced(net, workers), 1)(net, workers)


def staged(stages: Mapping[str, int], replicas: int) -> Callable[[Net, int], list[Placement]]:
    """The scheme whose layer ``name`` is in stage ``stages[name]``; another is where its last source is.

    Replicas add 2(R-1) times the parameters to what is sent.
    """

    def place(net: Net, workers: int) -> list[Placement]:
        found = stages_of(net, stages)
        return [on_stage(cut_on(node, BATCH, replicas), found[node.index] * replicas) for node in net.nodes]

    return place


def on_stage(placement: Placement, first: int) -> Placement:
    """``placement`` on the workers from ``first``."""
    return Placement(tuple(replace(shard, worker=first + shard.worker) for shard in placement.shards))


def stages_of(net: Net, named: Mapping[str, int]) -> list[int]:
    """The stage of each node; one that is not named goes with its sources, an input with its readers."""
    found: list[int] = []
    for node, reading in zip(net.nodes, readers(net), strict=True):
        before = max((found[source.node] for source in node.sources), default=None)
        behind = min((named[reader.name] for reader in reading if reader.name in named), default=0)
        found.append(named.get(node.name, behind if before is None else before))
    return found


def balanced(net: Net, stages: int) -> dict[str, int]:
    """Cuts the layers, in topological order, into at most ``stages`` runs, the heaviest as light as can be."""
    loads = [work(node) for node in net.nodes]
    lightest = bisect_left(range(sum(loads)), True, lo=max(loads), key=lambda most: max(runs(loads, most)) < stages)
    return {node.name: stage for node, stage in zip(net.nodes, runs(loads, lightest), strict=True)}


def runs(loads: Sequence[int], most: int) -> list[int]:
    """The run of each load, if each run takes as many as do not exceed ``most`` together."""
    found, run, filled = [], 0, 0
    for load in loads:
        if filled + load > most:
            run, filled = run + 1, 0
        filled += load
        found.append(run)
    return found


def work(node: Node) -> int:
    """FLOPs of a layer, forward and backward."""
    cost = node.layer.cost(node.layer.output.whole)
    return cost.forward + cost.backward
