"""ALTSPLIT: the seed's own scheme: layers are split and replicated in turn, so that only split ones communicate."""

from __future__ import annotations

from netpart.graph.net import Net
from netpart.plan.schemes.placing import NEURONS, cut_on_axis, is_product, keeps_neurons, replicate_layer
from netpart.spec import Placement


def altsplit(net: Net, workers: int) -> list[Placement]:
    """Sends (N-1)b[sum of d_l, odd l <= L, + 2 sum of d_l, even l < L], and no gradient of a parameter.

    A product that reads whole inputs is split on its neurons, one that reads split ones is computed whole by every
    worker: that is the price, N-fold work in the even layers. What stands between products is as the product above it.
    The copies of a replicated layer all-reduce the gradient of its output, so each trains its parameters alone.
    """
    placements: list[Placement] = []
    split: list[bool] = []
    for node in net.nodes:
        above = [split[source.node] for source in node.sources]
        split.append(not any(above) if is_product(node) else keeps_neurons(node) and any(above))
        alone = cut_on_axis(node, NEURONS, workers)
        placements.append(alone if split[-1] else replicate_layer(node, workers, sum_gradient=True))
    return placements
