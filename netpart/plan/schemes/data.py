"""DATA: every layer cut on the batch. Each worker trains all parameters on its own rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from netpart.graph.net import Net, Node
from netpart.plan.schemes.placing import BATCH, can_cut, cut_on_axis, replicate_layer
from netpart.spec import Placement, Shard


def data_parallel_scheme(net: Net, workers: int) -> list[Placement]:
    """Cut every layer on the batch. Sends 2(N-1)P elements: the all-reduce of the gradients of P parameters."""
    return [cut_on_axis(node, BATCH, workers) for node in net.nodes]


def data_parallel_by_speed(speeds: Sequence[float]) -> Callable[[Net, int], list[Placement]]:
    """The scheme that cuts every layer on the batch, with rows in proportion to the speed of each worker."""

    def scheme(net: Net, workers: int) -> list[Placement]:
        return [_cut_by_speed(node, speeds) for node in net.nodes]

    return scheme


def _cut_by_speed(node: Node, speeds: Sequence[float]) -> Placement:
    """``node`` cut on the batch in proportion to ``speeds``, or replicated if it cannot be cut so."""
    if not can_cut(node, BATCH):
        return replicate_layer(node, len(speeds))
    rows, *rest = node.layer.output.whole
    bounds = [round(sum(speeds[:w]) / sum(speeds) * rows[1]) for w in range(len(speeds) + 1)]
    # A worker that is too slow for a whole row gets no shard.
    return Placement(tuple(Shard(w, (span, *rest)) for w, span in enumerate(pairwise(bounds)) if span[0] < span[1]))
