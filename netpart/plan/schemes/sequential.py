"""SEQUENTIAL: every layer whole on worker 0, which the seed calls the sequential DNN (its Algorithm 1)."""

from __future__ import annotations

from netpart.graph.net import Net
from netpart.spec import Placement, single_placement


def sequential_scheme(net: Net, workers: int) -> list[Placement]:
    """Put every layer on worker 0. Sends nothing; other workers are idle."""
    return [single_placement(0, node.layer.output) for node in net.nodes]
