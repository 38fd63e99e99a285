"""Schemes from a list of workers per layer, as pipelines and planners decide them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

from netpart.graph.net import Net, Node
from netpart.plan.schemes.placing import BATCH, cut_on_axis, node_readers
from netpart.spec import Placement, Shard, single_placement

Workers = tuple[int, ...]


def scheme_from_workers(of_layer: Mapping[str, Workers]) -> Callable[[Net, int], list[Placement]]:
    """The scheme that puts each layer whole on its worker, or cuts it on the batch over its workers.

    A layer that is not in ``of_layer``, such as an input or one of another phase, goes with the last of its sources to
    be computed, or else with its first reader.
    """

    def scheme(net: Net, workers: int) -> list[Placement]:
        return [
            _place_on_workers(node, found)
            for node, found in zip(net.nodes, _complete_workers(net, of_layer), strict=True)
        ]

    return scheme


def _complete_workers(net: Net, of_layer: Mapping[str, Workers]) -> list[Workers]:
    """The workers of every node."""
    found = [of_layer.get(node.name, ()) for node in net.nodes]
    for node in net.nodes:
        sources = sorted(source.node for source in node.sources if found[source.node])
        found[node.index] = found[node.index] or (found[sources[-1]] if sources else ())
    for node, reading in reversed(list(zip(net.nodes, node_readers(net), strict=True))):
        read_by = [found[r.index] for r in reading if found[r.index]]
        found[node.index] = found[node.index] or (read_by[0] if read_by else (0,))
    return found


def _place_on_workers(node: Node, workers: Workers) -> Placement:
    """``node`` cut on the batch over ``workers`` as evenly as possible; whole if there is only one."""
    if len(workers) == 1:
        return single_placement(workers[0], node.layer.output)
    return _renumber_workers(workers, cut_on_axis(node, BATCH, len(workers)))


def restrict_scheme(
    scheme: Callable[[Net, int], list[Placement]], workers: Workers
) -> Callable[[Net, int], list[Placement]]:
    """The scheme ``scheme`` on ``workers`` only, as if there were no other workers."""

    def placed(net: Net, count: int) -> list[Placement]:
        if workers == tuple(range(count)):
            return scheme(net, count)
        return [_renumber_workers(workers, placement) for placement in scheme(net, len(workers))]

    return placed


# Many layers have outputs of one shape; their equal placements are one object.
@lru_cache(maxsize=256)
def _renumber_workers(workers: Workers, placement: Placement) -> Placement:
    """``placement`` with ``workers`` in place of workers 0, 1, ..."""
    return replace(placement, shards=tuple(Shard(workers[s.worker], s.region, s.term) for s in placement.shards))
