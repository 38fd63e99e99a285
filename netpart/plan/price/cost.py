"""Costs of one training step, derived from the graph: FLOPs of parts, bytes that layers send and keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

from netpart.graph.graph import BRIDGE_DST, CONCATE, LAYER, SUM, TAKE, Graph, Part
from netpart.graph.holdings import Holding
from netpart.graph.partition import Partition
from netpart.kernels.reference import Kernels
from netpart.layers.part import Cost
from netpart.plan.price.ledger import LedgerFlow
from netpart.program.buffers import item_size
from netpart.program.instructions import Channel, Way
from netpart.proto.element import float_size
from netpart.spec import BFLOAT16, TENSOR, Shape, extent, size


def partition_itemsize(partition: Partition) -> int:
    """Bytes of an activation or parameter."""
    return float_size(partition.job)


def part_cost(graph: Graph, part: Part) -> Cost:
    """FLOPs of one part of a layer in training, counting only the gradients that it computes."""
    cost = graph.net.nodes[part.node].layer.cost(part.region, part.term)
    wanted = {feed.k for feed in part.feeds if feed.gradient}
    inputs = tuple(flops if k in wanted else 0 for k, flops in enumerate(cost.inputs))
    return replace(cost, inputs=inputs, params=cost.params if any(part.trains) else 0)


def traffic_by_layer(partition: Partition, flows: Iterable[LedgerFlow]) -> Counter[str]:
    """Bytes of one training step by layer.

    A bridge or a sum over replicas counts for the layer whose output it carries, a bucket for the layers whose
    parameters it contains, and the gradient norm for the first trained layer.
    """
    bytes_of = Counter[Channel]()
    for flow in flows:
        bytes_of[flow.channel] += flow.nbytes
    return share_channel_bytes(partition, bytes_of)


def share_channel_bytes(partition: Partition, bytes_of: Mapping[Channel, int]) -> Counter[str]:
    """The bytes of each channel, by layer as in ``traffic_by_layer``."""
    found = Counter[str]()
    buckets = Counter[int]()
    owners = owner_names(partition)
    for channel, nbytes in bytes_of.items():
        if channel.way in (Way.BUCKET, Way.VALUES):
            buckets[channel.edge] += nbytes
        elif channel.way == Way.NORM:
            found[next(owners[p.name] for p in partition.parameters if p.name in partition.trained)] += nbytes
        else:
            graph = partition.phases["train"][channel.micro].graph
            found[graph.net.nodes[graph.part_at(channel.edge).node].name] += nbytes
    for b, nbytes in buckets.items():
        bucket = partition.buckets[b]
        for cell in bucket.cells:
            # By share of the elements: the cells of a bucket are sent as one buffer.
            found[owners[cell.parameter.name]] += nbytes * size(cell.box) // bucket.elements
    return found


def owner_names(partition: Partition) -> dict[str, str]:
    """The name of the layer that owns each parameter, by the parameter's name."""
    nets = [micros[0].graph.net for micros in partition.phases.values()]
    return {p.name: net.nodes[p.owner].name for net in nets for p in net.parameters}


def parameter_elements(partition: Partition, holding: Holding, slots: int) -> int:
    """Elements that a worker keeps for ``holding``: values, gradient, and ``slots`` arrays of the updater's state."""
    # Values, and a gradient if trained, cover the whole box; with sharded updates the state covers only the home.
    arrays = 1 + (holding.parameter.name in partition.trained)
    return arrays * size(holding.box) + slots * size(holding.home)


def held_bytes(graph: Graph, part: Part, itemsize: int, kernels: type[Kernels] = Kernels) -> int:
    """Bytes that one part keeps: values, what forward by ``kernels`` keeps for backward, and gradients.

    Helpers that only forward a tensor keep nothing.
    """
    layer = graph.net.nodes[part.node].layer
    if part.kind not in (LAYER, BRIDGE_DST, TAKE, CONCATE, SUM):
        return 0
    element = graph.net.element(part.node, part.output)
    held: list[tuple[Shape, Any]] = [(extent(part.region), element)]
    if part.kind == LAYER:
        regions = enumerate(layer.outputs_of(part.region))
        held = [(extent(region), graph.net.element(part.node, output)) for output, region in regions]
        narrow = element == BFLOAT16 and layer.takes_bfloat16(kernels)
        kept = layer.aux(kernels, part.region)
        held += [(shape, BFLOAT16 if dtype == TENSOR and narrow else dtype) for shape, dtype in kept]
    # A loss is the start of backward, so no gradient of its output is stored.
    if part.live and not layer.is_loss:
        held.append((extent(part.region), element))
    return part.arrivals * sum(prod(shape) * item_size(dtype, itemsize) for shape, dtype in held)
