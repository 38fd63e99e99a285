"""What one training step costs, read off the graph: FLOPs of parts, bytes that workers send."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netpart.collectives import all_reduce
from netpart.graph.graph import BRIDGE_DST, CONCATE, LAYER, SUM, Graph, Part
from netpart.graph.partition import Micro, Partition
from netpart.layers.layer import Cost
from netpart.spec import FLOAT, INT, RECORD, size

LABEL_BYTES = 4


@dataclass(frozen=True)
class Sent:
    """``bytes`` of payload that ``worker`` sends in one step because of ``layer``."""

    layer: str
    worker: int
    bytes: int


def itemsize(partition: Partition) -> int:
    """Bytes of an activation or parameter."""
    return 8 if partition.job.dtype == partition.job.FLOAT64 else 4


def price(graph: Graph, part: Part) -> Cost:
    """FLOPs of one part of a layer; backward counts only where a gradient is computed."""
    cost = graph.net.nodes[part.node].layer.cost(part.region, part.term)
    return Cost(cost.forward, cost.backward if part.live else 0)


def sent(partition: Partition, phase: str = "train") -> Iterator[Sent]:
    """All payload of one step: tensors and their gradients over bridges, and ring all-reduces.

    A bridge counts for the layer whose output it carries, a parameter's all-reduce for the layer that owns it.
    """
    for micro in partition.phases[phase]:
        yield from over_bridges(micro, itemsize(partition), phase == "train")
        if phase == "train":
            yield from reduced_gradients(micro.graph, itemsize(partition))
    if phase == "train":
        yield from reduced_parameters(partition)


def over_bridges(micro: Micro, itemsize: int, backward: bool) -> Iterator[Sent]:
    """What crosses the bridges of one micro-batch."""
    for bridge in micro.graph.bridges():
        layer = micro.graph.net.nodes[bridge.target.node].name
        payload = bridge.elements * (LABEL_BYTES if bridge.dtype == INT else itemsize)
        yield Sent(layer, bridge.source.worker, payload)
        if backward and bridge.backward:
            yield Sent(layer, bridge.target.worker, payload)


def reduced_gradients(graph: Graph, itemsize: int) -> Iterator[Sent]:
    """What replicas send to make the gradient of their output whole."""
    for part in graph.parts:
        if part.members and part is part.members[0]:
            workers = tuple(sorted(p.worker for p in part.members))
            yield from ring(graph.net.nodes[part.node].name, workers, size(part.region), itemsize)


def reduced_parameters(partition: Partition) -> Iterator[Sent]:
    """What the buckets of gradients send; a bucket is counted for its layers in proportion to their cells."""
    owners = owner_names(partition)
    for bucket in partition.buckets:
        for cell in bucket.cells:
            yield from ring(owners[cell.parameter.name], bucket.workers, size(cell.box), itemsize(partition))


def owner_names(partition: Partition) -> dict[str, str]:
    """The layer that owns each parameter, by its name."""
    nets = [micros[0].graph.net for micros in partition.phases.values()]
    return {p.name: net.nodes[p.owner].name for net in nets for p in net.parameters}


def ring(layer: str, workers: tuple[int, ...], elements: int, itemsize: int) -> Iterator[Sent]:
    """What each of ``workers`` sends in a ring all-reduce of so many elements (to one element per chunk)."""
    for worker, steps in all_reduce(workers, elements).items():
        yield Sent(layer, worker, itemsize * sum(step.send[1] - step.send[0] for step in steps))


def held_bytes(graph: Graph, part: Part, itemsize: int) -> int:
    """Bytes of the values and gradients that one part keeps: helpers that only pass on keep none."""
    layer = graph.net.nodes[part.node].layer
    if part.kind not in (LAYER, BRIDGE_DST, CONCATE, SUM):
        return 0
    regions = layer.outputs_of(part.region) if part.kind == LAYER else (part.region,)
    specs = layer.outputs if part.kind == LAYER else (layer.outputs[part.output],)
    width = {FLOAT: itemsize, INT: LABEL_BYTES, RECORD: 0}
    values = sum(size(region) * width[spec.dtype] for region, spec in zip(regions, specs, strict=True))
    return values + (size(part.region) * itemsize if part.live else 0)
