"""Building blocks of schemes: a layer whole on every worker, cut evenly along an axis, or cut on its inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from netpart.graph.net import Net, Node
from netpart.graph.passes.uneven_cuts import Ranges, cut_extent
from netpart.layers.layer import INPUT
from netpart.spec import RECORD, Placement, Region, Shard, whole_region

Scheme = Callable[[Net, int], list[Placement]]
"""Function from a net and a number of workers to one placement per node."""
BATCH, NEURONS = 0, 1
"""Axes of a layer's output; NEURONS are the channels of a convolution."""


def replicate_layer(node: Node, workers: int, sum_gradient: bool = False) -> Placement:
    """A copy of ``node`` on every worker. ``sum_gradient``: the copies all-reduce the gradient of their output."""
    whole = node.layer.output.whole
    return Placement(tuple(Shard(w, whole) for w in range(workers)), sum_gradient)


def cut_on_axis(node: Node, axis: int, workers: int) -> Placement:
    """``node`` cut along ``axis`` as evenly as possible, or replicated if it cannot be cut so.

    If there are fewer elements than workers, the last workers get none.
    """
    if not can_cut(node, axis):
        return replicate_layer(node, workers)
    return _cut_into_parts(node.layer.output.whole, axis, workers)


# Many layers have outputs of one shape; their equal placements are one object.
@lru_cache(maxsize=64)
def _cut_into_parts(region: Region, axis: int, workers: int) -> Placement:
    """``region`` cut along ``axis`` as evenly as possible."""
    parts = enumerate(_even_parts(region[axis][1], workers))
    return Placement(tuple([Shard(w, (*region[:axis], p, *region[axis + 1 :])) for w, p in parts]))


def cut_on_inputs(node: Node, workers: int) -> Placement:
    """A product whose parts each read a share of the inputs and compute addends of the whole output."""
    space = node.layer.contraction()
    assert space is not None, f"{node.name} is no product"
    region = node.layer.output.whole
    rest = whole_region(space[1:])
    return Placement(tuple(Shard(w, region, (p, *rest)) for w, p in enumerate(_even_parts(space[0], workers))))


def _even_parts(extent: int, workers: int) -> Ranges:
    """``extent`` cut as evenly as possible into one part per worker, without empty parts."""
    return cut_extent(extent, min(extent, workers), spread=True)


def can_cut(node: Node, axis: int) -> bool:
    """True if ``node`` has this axis and allows a cut on it."""
    return node.layer.output.dtype != RECORD and axis in node.layer.cuts()


def is_product(node: Node) -> bool:
    """True for inner products and convolutions, in which every neuron or channel reads all inputs."""
    return node.layer.contraction() is not None and INPUT in node.layer.cuts()


def is_reporting_layer(node: Node) -> bool:
    """True for losses and other layers with metrics, which read whole rows."""
    return bool(node.layer.metrics)


def keeps_neurons(node: Node) -> bool:
    """True for a layer between products that can work on a share of the neurons: activations, pooling, sums."""
    inside = not (node.layer.is_input or is_product(node) or is_reporting_layer(node))
    return inside and can_cut(node, NEURONS)


def node_readers(net: Net) -> list[list[Node]]:
    """Per node, the nodes that read it."""
    found: list[list[Node]] = [[] for _ in net.nodes]
    for node in net.nodes:
        # A node that reads the same source twice is one reader.
        for index in dict.fromkeys(source.node for source in node.sources):
            found[index].append(node)
    return found
