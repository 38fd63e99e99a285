"""SEQUENTIAL: every layer whole on worker 0, what the seed calls the sequential DNN (its Algorithm 1)."""

from __future__ import annotations

from netpart.graph.net import Net
from netpart.spec import Placement, single_placement


def sequential_scheme(net: Net, workers: int) -> list[Placement]:
    """Sends nothing; the other workers have nothing to do."""
    return [single_placement(0, node.layer.output) for node in net.nodes]
