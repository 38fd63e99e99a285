"""NAIVE: Algorithm 2 of the seed, the baseline: an all-gather before every layer forward, an all-reduce backward."""

from __future__ import annotations

from netpart.graph.net import Net
from netpart.plan.schemes.placing import NEURONS, cut_on_axis, is_product, keeps_neurons, node_readers, replicate_layer
from netpart.spec import Placement


def naive_scheme(net: Net, workers: int) -> list[Placement]:
    """Cut products on their neurons and gather the input of each.

    Sends (N-1)b[sum of d_l, l = 1..L, + 2 sum of d_l, l < L] elements. The layer that the next product reads is whole
    on every worker: the all-gather comes before it, and its copies all-reduce their gradient. If two products follow
    each other directly, the gradient is reduce-scattered instead, as no layer between them could hold the whole of it.
    """
    placements = []
    for node, reading in zip(net.nodes, node_readers(net), strict=True):
        split = is_product(node) or (keeps_neurons(node) and reading and all(map(keeps_neurons, reading)))
        placements.append(
            cut_on_axis(node, NEURONS, workers) if split else replicate_layer(node, workers, sum_gradient=True)
        )
    return placements
