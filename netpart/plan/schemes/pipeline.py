"""PIPELINE: the layers one after another in stages of about equal work, each stage on workers of its own.

N workers make K stages of R = N / K replicas; the replicas of a stage cut its layers on the batch. Work is that of
``loads``, as for ``netpart.plan.search.pipeline_stages``. That searches for the pipeline whose slowest stage is
fastest, with as many stages and replicas as that needs, and must know the devices; here the job says how
many there are, and all count alike.
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


def pipeline_scheme(net: Net, workers: int) -> list[Placement]:
    """A stage for every worker. Sends 2b times what a row has of elements at each boundary, and the labels."""
    return scheme_from_stages(balance_stages(net, workers), 1)(net, workers)


def scheme_from_stages(stages: Mapping[str, int], replicas: int) -> Callable[[Net, int], list[Placement]]:
    """The scheme whose layer ``name`` is in stage ``stages[name]``; others go where ``scheme_from_workers`` puts them.

    Replicas add 2(R-1) times the parameters to what is sent.
    """
    return scheme_from_workers({name: tuple(range(k * replicas, (k + 1) * replicas)) for name, k in stages.items()})


def balance_stages(net: Net, stages: int) -> dict[str, int]:
    """Cuts the layers, in topological order, into ``stages`` runs (or as many as there are layers) of even work.

    The sum of the runs' works to the power of POWER is the least there is, so the heaviest is nearly as light as it
    can be, and the others are even as well.
    """
    count = len(net.nodes)
    done = np.cumsum([0, *(profile_layer(net, node, 0).work for node in net.nodes)])
    price = ((done[None, :] - done[:, None]) / max(1, done[-1])) ** POWER  # [a, b]: of the run of layers a to b - 1
    price[np.tril_indices(count + 1)] = np.inf
    runs = pairwise(cut_chain(price, min(stages, count), np.add))
    return {node.name: stage for stage, (start, end) in enumerate(runs) for node in net.nodes[start:end]}
