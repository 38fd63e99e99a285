"""The Picture of a graph: what each of its parts, feeds and collectives is in the drawing."""

from __future__ import annotations

from dataclasses import replace

from netpart.draw.picture import Arrow, Box, Frame, Picture
from netpart.graph.build import type_name
from netpart.graph.graph import BRIDGE_DST, BRIDGE_SRC, CONCATE, Collective, Feed, Graph, Part
from netpart.graph.net import Net
from netpart.graph.partition import partition_net
from netpart.layers.layer import Layer
from netpart.plan.ledger import replicas_summed
from netpart.spec import INT, RECORD, Spec, one, size

HELPER_TYPES = {"slice": "Slice", "split": "Split", "concate": "Concate", "sum": "Sum"}
LABEL_BYTES = 4


def picture(drawn: Graph | Net, itemsize: int = 4) -> Picture:
    """The Picture of a partitioned net, or of an uncut one as on one worker.

    ``itemsize`` is the bytes of one activation: 4, or 8 with ``dtype: FLOAT64``; labels always have 4.
    """
    graph = uncut(drawn) if isinstance(drawn, Net) else drawn
    pieces = framed(graph)
    boxes = tuple(replace(box(graph, part), frame=pieces.get(part.index, -1)) for part in graph.parts)
    arrows = tuple(arrow(graph, part, feed, itemsize) for part in graph.parts for feed in part.feeds)
    frames = tuple(frame(number, found, itemsize) for number, found in enumerate(graph.collectives))
    return Picture(graph.net.name, graph.net.phase, graph.workers, boxes, arrows, summed(graph, itemsize), frames)


def framed(graph: Graph) -> dict[int, int]:
    """The number of the collective that each helper is a piece of, by its index; also of a Concate of what came."""
    numbers = {id(found): n for n, found in enumerate(graph.collectives)}
    pieces = {p.index: numbers[id(p.collective)] for p in graph.parts if p.collective is not None}
    for part in graph.parts:
        brought = {pieces.get(f.part.index) for f in part.feeds if f.part.kind == BRIDGE_DST}
        if part.kind == CONCATE and len(brought) == 1 and (number := brought.pop()) is not None:
            pieces[part.index] = number
    return pieces


def frame(number: int, found: Collective, itemsize: int) -> Frame:
    """The Frame of a collective."""
    item = LABEL_BYTES if found.dtype == INT else itemsize
    forward = found.elements * item
    return Frame(number, f"{found.kind} {found.name}", found.members, forward, forward * found.backward)


def summed(graph: Graph, itemsize: int) -> int:
    """Bytes that workers exchange to add up gradients: of parameters, and of the outputs of replicas."""
    return (graph.summed + replicas_summed(graph)) * itemsize


def uncut(net: Net) -> Graph:
    """``net`` as a Graph on one worker: the rewrite adds nothing to it."""
    return partition_net(net, [one(0, node.layer.output) for node in net.nodes], 1)


def box(graph: Graph, part: Part) -> Box:
    """The Box of one part."""
    layer = graph.net.nodes[part.node].layer
    spec, shape = layer.outputs[part.output], graph.shape(part)
    extent = f"{spec.rows} records" if spec.dtype == RECORD else "×".join(map(str, shape))
    return Box(
        part.name, part.kind, layer.name, _type(layer, part), shape, extent, _holds(layer, spec, part), part.worker
    )


def arrow(graph: Graph, part: Part, feed: Feed, itemsize: int) -> Arrow:
    """The Arrow of one feed of ``part``."""
    source = feed.part
    if source.worker == part.worker:
        return Arrow(source.name, part.name, False, feed.gradient)
    spec = graph.net.nodes[part.node].layer.outputs[part.output]
    forward = size(feed.region) * (LABEL_BYTES if spec.dtype == INT else itemsize)
    back = forward if feed.gradient else 0
    return Arrow(source.name, part.name, True, feed.gradient, forward, back, part.collective is not None)


def _type(layer: Layer, part: Part) -> str:
    if part.peer is not None and part.kind == BRIDGE_SRC:
        return f"to worker {part.peer.worker}"
    if part.peer is not None and part.kind == BRIDGE_DST:
        return f"from worker {part.peer.worker}"
    sums = ", Σ gradient" if part.live and part.members else ""
    return HELPER_TYPES.get(part.kind) or type_name(layer.conf).removeprefix("k") + sums


def _holds(layer: Layer, spec: Spec, part: Part) -> str:
    """``"conv1[0:2, 0:8]"``, and for an addend of a sum the box of the contraction it covers."""
    output = f".{layer.output_names[part.output]}" if part.output else ""
    term = f" over inputs [{_ranges(part.term)}]" if part.term is not None else ""
    return f"{layer.name}{output}[{_ranges(part.region) if spec.shape else '...'}]{term}"


def _ranges(region: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{lo}:{hi}" for lo, hi in region)
