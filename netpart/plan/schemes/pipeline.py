"""PIPELINE: the layers one after another in stages of about equal work, each stage on workers of its own.

N workers make K stages of R = N / K replicas; the replicas of a stage cut its layers on the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from netpart.graph.net import Net, Node
from netpart.plan.schemes.placing import BATCH, cut_on, readers
from netpart.spec import Placement

POWER = 8


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
    """Cuts the layers, in topological order, into ``stages`` runs (or as many as there are layers) of even work.

    The sum of the runs' works to the power of POWER is the least there is, so the heaviest is nearly as light as it
    can be, and the others are even as well.
    """
    count = len(net.nodes)
    done = np.cumsum([0, *(work(net, node) for node in net.nodes)])
    price = ((done[None, :] - done[:, None]) / max(1, done[-1])) ** POWER  # [a, b]: of the run of layers a to b - 1
    price[np.tril_indices(count + 1)] = np.inf
    best, starts = price[0], []
    for _ in range(min(stages, count) - 1):
        total = best[:, None] + price
        starts.append(total.argmin(axis=0))
        best = total.min(axis=0)
    found, end = dict.fromkeys((node.name for node in net.nodes), 0), count
    for stage, start in reversed(list(enumerate(starts, start=1))):
        found.update((node.name, stage) for node in net.nodes[start[end] : end])
        end = start[end]
    return found


def work(net: Net, node: Node) -> int:
    """FLOPs of a layer in training: of its gradients, only of those that are computed."""
    cost = node.layer.cost(node.layer.output.whole)
    wanted = sum(flops for flops, source in zip(cost.inputs, node.sources, strict=False) if net.trained[source.node])
    return cost.forward + wanted + cost.params
