"""PIPELINE: the layers in order, in stages of about equal work, each stage on its own workers.

N workers make K stages of R = N / K replicas; the replicas of a stage cut its layers on the batch. Work is that of
``layer_loads``, as for ``netpart.plan.stages.pipeline_stages``. That module searches for the numbers of stages and
replicas with the fastest slowest stage, and needs to know the devices. Here the job sets these numbers, and all workers
count as equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np

from netpart.graph.net import Net
from netpart.plan.price.layer_loads import profile_layer
from netpart.plan.schemes.chain import cut_chain
from netpart.plan.schemes.on_workers import scheme_from_workers
from netpart.spec import Placement

POWER = 8
"""Exponent of the work of a stage in the sum that ``balance_stages`` minimises."""


def pipeline_scheme(net: Net, workers: int) -> list[Placement]:
    """Make a stage for every worker. Sends 2b times the elements of a row at each boundary, and the labels."""
    return scheme_from_stages(balance_stages(net, workers), 1)(net, workers)


def scheme_from_stages(stages: Mapping[str, int], replicas: int) -> Callable[[Net, int], list[Placement]]:
    """The scheme that puts layer ``name`` in stage ``stages[name]``; for others see ``scheme_from_workers``.

    Replicas add 2(R-1) times the parameters to the elements sent.
    """
    return scheme_from_workers({name: tuple(range(k * replicas, (k + 1) * replicas)) for name, k in stages.items()})


def balance_stages(net: Net, stages: int) -> dict[str, int]:
    """Cut the layers, in topological order, into ``stages`` runs (at most one per layer) of even work.

    The runs minimise the sum of their works to the power of POWER. So the heaviest run is nearly as light as possible,
    and the others are even as well.
    """
    count = len(net.nodes)
    done = np.cumsum([0, *(profile_layer(net, node, 0).work for node in net.nodes)])
    # Relative to the whole work, so that no power exceeds 1.
    price = ((done[None, :] - done[:, None]) / max(1, done[-1])) ** POWER  # [a, b]: of the run of layers a to b - 1
    price[np.tril_indices(count + 1)] = np.inf
    runs = pairwise(cut_chain(price, min(stages, count), np.add))
    return {node.name: stage for stage, (start, end) in enumerate(runs) for node in net.nodes[start:end]}
