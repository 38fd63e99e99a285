"""GATHER_SCATTER: every product cut on its neurons, as SINGA's helper layers do with partition_dim 1."""

from __future__ import annotations

from netpart.graph.net import Net, Node
from netpart.plan.schemes.placing import NEURONS, cut_on_axis, is_reporting_layer, replicate_layer
from netpart.spec import Placement


def gather_scatter(net: Net, workers: int) -> list[Placement]:
    """Cut every product on its neurons; inputs and losses are replicated.

    Sends (N-1)b[sum of d_l, l = 1..L, + sum of d_l, l < L] elements: all-gathers forward, reduce-scatters backward.
    """
    return [place_on_neurons(node, workers) for node in net.nodes]


def place_on_neurons(node: Node, workers: int) -> Placement:
    """``node`` cut on its neurons; replicated if it is an input, a loss or has no neurons."""
    if node.layer.is_input or is_reporting_layer(node):
        return replicate_layer(node, workers)
    return cut_on_axis(node, NEURONS, workers)
