"""DATA: every layer cut on the batch. Each worker trains all parameters on its own rows."""

from __future__ import annotations

from netpart.graph.net import Net
from netpart.plan.schemes.placing import BATCH, cut_on
from netpart.spec import Placement


def data(net: Net, workers: int) -> list[Placement]:
    """Sends 2(N-1)P: the all-reduce of the gradients of P parameters."""
    return [cut_on(node, BATCH, workers) for node in net.nodes]
