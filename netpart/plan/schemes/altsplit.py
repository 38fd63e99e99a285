"""ALTSPLIT: the seed's own scheme, which splits and replicates layers alternately; only split layers communicate."""

from __future__ import annotations

from netpart.graph.net import Net
from netpart.plan.schemes.placing import NEURONS, cut_on_axis, is_product, keeps_neurons, replicate_layer
from netpart.spec import Placement


def altsplit(net: Net, workers: int) -> list[Placement]:
    """Split and replicate products alternately.

    Sends (N-1)b[sum of d_l, odd l <= L, + 2 sum of d_l, even l < L] elements, and no gradient of a parameter. A product
    that reads whole inputs is split on its neurons. One that reads split inputs is computed whole by every worker: this
    costs N-fold work in the even layers. Layers between products are placed like the product above them. The copies of
    a replicated layer all-reduce the gradient of its output, so each trains its parameters alone.
    """
    placements: list[Placement] = []
    split: list[bool] = []
    for node in net.nodes:
        above = [split[source.node] for source in node.sources]
        split.append(not any(above) if is_product(node) else keeps_neurons(node) and any(above))
        alone = cut_on_axis(node, NEURONS, workers)
        placements.append(alone if split[-1] else replicate_layer(node, workers, sum_gradient=True))
    return placements
