"""COLUMN_ROW: weights cut alternately on outputs and inputs (Megatron-LM, arXiv 1909.08053, section 3).

The output of a worker's share of the first product is exactly what its share of the second product reads, so the tensor
between them is never sent. The second product computes addends of a sum. The program of Altsplit's authors does this.
"""

from __future__ import annotations

from netpart.graph.net import Net, Node
from netpart.plan.schemes.placing import (
    BATCH,
    NEURONS,
    cut_on_axis,
    cut_on_inputs,
    is_product,
    is_reporting_layer,
    keeps_neurons,
    node_readers,
    replicate_layer,
)  # fmt: skip
from netpart.spec import Placement


def column_row(net: Net, workers: int) -> list[Placement]:
    """Cut pairs of products, the first on its neurons and the second on its inputs.

    Sends 2(N-1)b[sum of d_l, even l <= L, + sum of d_l, even l < L] elements if L is even. A product without a partner
    below (the last one, if L is odd) is computed whole by every worker. Losses that directly follow addends are cut on
    the batch, which costs the same as an all-reduce.
    """
    placements: list[Placement] = []
    paired = _partnered_nodes(net)
    for node in net.nodes:
        above = [placements[source.node] for source in node.sources]
        columns = any(map(_is_split, above))
        partial = any(len(p.terms) > 1 for p in above)
        if is_product(node) and (columns or paired[node.index]):
            placements.append(cut_on_inputs(node, workers) if columns else cut_on_axis(node, NEURONS, workers))
        elif keeps_neurons(node) and columns:
            placements.append(cut_on_axis(node, NEURONS, workers))
        else:
            placements.append(
                cut_on_axis(node, BATCH, workers)
                if is_reporting_layer(node) and partial
                else replicate_layer(node, workers)
            )
    return placements


def _is_split(placement: Placement) -> bool:
    """True if the layer is cut on its neurons."""
    # Several terms are addends, one class means replicas or a single shard.
    return len(placement.terms) == 1 and len(placement.classes) > 1


def _partnered_nodes(net: Net) -> list[bool]:
    """Per node: True if a product reads it, directly or through layers that keep its neurons."""
    found = [False] * len(net.nodes)
    for node, reading in reversed(list(zip(net.nodes, node_readers(net), strict=True))):
        found[node.index] = any(is_product(r) or _carries_neurons(r, found) for r in reading)
    return found


def _carries_neurons(node: Node, found: list[bool]) -> bool:
    """True if a share of the neurons passes through ``node`` to a product."""
    return keeps_neurons(node) and found[node.index]
