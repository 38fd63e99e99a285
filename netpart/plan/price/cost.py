"""Costs of one training step, derived from the graph: FLOPs of parts, bytes that layers send and keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod

from netpart.graph.graph import BRIDGE_DST, CONCATE, LAYER, SUM, TAKE, Graph, Part
from netpart.graph.holdings import Holding
from netpart.graph.partition import Partition
from netpart.kernels.reference import Kernels
from netpart.layers.layer import Layer
from netpart.layers.part import Cost
from netpart.plan.price.ledger import LedgerFlow
from netpart.program.buffers import item_size
from netpart.program.instructions import Channel, Way
from netpart.proto.element import float_size
from netpart.spec import BFLOAT16, TENSOR, Region, extent, size


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
    if part.kind == LAYER:
        elements = [graph.net.element(part.node, output) for output in range(len(layer.outputs))]
        return layer_held_bytes(layer, part.region, elements, part.live, itemsize, kernels)
    element = graph.net.element(part.node, part.output)
    copies = 1 + (part.live and not layer.is_loss)
    return part.arrivals * copies * size(part.region) * item_size(element, itemsize)


def layer_held_bytes(
    layer: Layer, region: Region, elements: Sequence[str], gradient: bool, itemsize: int, kernels: type[Kernels]
) -> int:
    """Bytes that the part of ``layer`` for ``region`` keeps: its outputs, stored as ``elements``, what forward by
    ``kernels`` keeps for backward, and with ``gradient`` the gradient of its output."""
    held = [(extent(box), element) for box, element in zip(layer.outputs_of(region), elements, strict=True)]
    narrow = elements[0] == BFLOAT16 and layer.takes_bfloat16(kernels)
    held += [(shape, BFLOAT16 if dtype == TENSOR and narrow else dtype) for shape, dtype in layer.aux(kernels, region)]
    # A loss is the start of backward, so no gradient of its output is stored.
    if gradient and not layer.is_loss:
        held.append((extent(region), elements[0]))
    return sum(prod(shape) * item_size(dtype, itemsize) for shape, dtype in held)
