"""Hybrid schemes: the first layers cut on the batch, the others by another scheme.

The first layers of a net have large tensors and few parameters, the last ones the reverse, so the cheapest cut changes
within the net. ONE_WEIRD_TRICK changes its cut after the convolutions; here the cut can change after any layer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from netpart.graph.net import Net
from netpart.plan.schemes.placing import BATCH, cut_on_axis
from netpart.spec import Placement


def hybrid_scheme(
    first: Collection[str], rest: Callable[[Net, int], list[Placement]]
) -> Callable[[Net, int], list[Placement]]:
    """The scheme that cuts the layers named ``first`` on the batch and places the others as ``rest`` does."""

    def scheme(net: Net, workers: int) -> list[Placement]:
        pairs = zip(net.nodes, rest(net, workers), strict=True)
        return [cut_on_axis(node, BATCH, workers) if node.name in first else placed for node, placed in pairs]

    return scheme
