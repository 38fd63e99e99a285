"""Layouts: placements that planners decide layer by layer, as schemes that place a net."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from netpart.graph.net import Net, Node
from netpart.plan.schemes import Scheme
from netpart.plan.schemes.placing import BATCH, can_cut, cut_on, readers, replicated
from netpart.spec import Placement, Shard, one

Workers = tuple[int, ...]


def on_workers(of_layer: Mapping[str, Workers]) -> Scheme:
    """Each layer whole on its worker, or cut on the batch over its workers.

    A layer that nobody decided about, an input or one of another phase, goes with its first reader or its source.
    """

    def scheme(net: Net, workers: int) -> list[Placement]:
        return [over(node, found) for node, found in zip(net.nodes, completed(net, of_layer), strict=True)]

    return scheme


def completed(net: Net, of_layer: Mapping[str, Workers]) -> list[Workers]:
    """The workers of every node."""
    found = [of_layer.get(node.name, ()) for node in net.nodes]
    for node in net.nodes:
        sources = [found[s.node] for s in node.sources if found[s.node]]
        found[node.index] = found[node.index] or (sources[-1] if sources else ())
    for node, reading in reversed(list(zip(net.nodes, readers(net), strict=True))):
        read_by = [found[r.index] for r in reading if found[r.index]]
        found[node.index] = found[node.index] or (read_by[0] if read_by else (0,))
    return found


def over(node: Node, workers: Workers) -> Placement:
    """``node`` cut on the batch over ``workers``, as evenly as can be; whole on a single one."""
    if len(workers) == 1:
        return one(workers[0], node.layer.output)
    placement = cut_on(node, BATCH, len(workers))
    return replace(placement, shards=tuple(replace(s, worker=workers[s.worker]) for s in placement.shards))


def data_by_speed(speeds: Sequence[float]) -> Scheme:
    """Every layer cut on the batch, with rows in proportion to the speed of each worker."""

    def scheme(net: Net, workers: int) -> list[Placement]:
        return [by_speed(node, speeds) for node in net.nodes]

    return scheme


def by_speed(node: Node, speeds: Sequence[float]) -> Placement:
    """``node`` cut on the batch in proportion to ``speeds``, or replicated where it cannot be cut there."""
    if not can_cut(node, BATCH):
        return replicated(node, len(speeds))
    rows, *rest = node.layer.output.whole
    bounds = [round(sum(speeds[:w]) / sum(speeds) * rows[1]) for w in range(len(speeds) + 1)]
    return Placement(tuple(Shard(w, (span, *rest)) for w, span in enumerate(pairwise(bounds)) if span[0] < span[1]))
