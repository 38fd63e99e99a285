"""The Picture of a graph: what each of its parts, feeds and collectives is in the drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from netpart.draw.picture import Arrow, CollectiveFrame, PartBox, Picture, Reduction
from netpart.graph.build import type_name
from netpart.graph.graph import BRIDGE_DST, BRIDGE_SRC, CONCATE, Collective, Graph, Part, PartInput
from netpart.graph.net import Net
from netpart.graph.partition import partition_net
from netpart.layers.layer import Layer
from netpart.spec import INT, RECORD, Spec, single_placement, size

if TYPE_CHECKING:
    from netpart.graph.holdings import Bucket

HELPER_TYPES = {"slice": "Slice", "split": "Split", "concate": "Concate", "sum": "Sum"}
LABEL_BYTES = 4
NAMED = 4
"""Parameters of a bucket that are named."""


def make_picture(drawn: Graph | Net, itemsize: int = 4) -> Picture:
    """The Picture of a partitioned net, or of an uncut one as on one worker.

    ``itemsize`` is the bytes of one activation: 4, or 8 with ``dtype: FLOAT64``; labels always have 4.
    """
    graph = _uncut_graph(drawn) if isinstance(drawn, Net) else drawn
    pieces = _collective_pieces(graph)
    boxes = tuple(replace(_part_box(graph, part), frame=pieces.get(part.index, -1)) for part in graph.parts)
    frames = tuple(_frame_collective(number, found, itemsize) for number, found in enumerate(graph.collectives))
    arrows = tuple(_feed_arrow(graph, part, feed, itemsize, pieces) for part in graph.parts for feed in part.feeds)
    return Picture(
        graph.net.name, graph.net.phase, graph.workers, boxes, tuple(_share_out_bytes(arrows, frames)), frames,
        tuple(_gradient_reductions(graph, itemsize)), graph.micro_batches,
    )  # fmt: skip


def _collective_pieces(graph: Graph) -> dict[int, int]:
    """The number of the collective that each helper is a piece of, by its index; also of a Concate of what came."""
    numbers = {id(found): n for n, found in enumerate(graph.collectives)}
    pieces = {p.index: numbers[id(p.collective)] for p in graph.parts if p.collective is not None}
    for part in graph.parts:
        brought = {pieces.get(f.part.index) for f in part.feeds if f.part.kind == BRIDGE_DST}
        if part.kind == CONCATE and len(brought) == 1 and (number := brought.pop()) is not None:
            pieces[part.index] = number
    return pieces


def _frame_collective(number: int, found: Collective, itemsize: int) -> CollectiveFrame:
    """The Frame of a collective."""
    item = LABEL_BYTES if found.dtype == INT else itemsize
    forward = found.elements * item
    return CollectiveFrame(number, f"{found.kind} {found.name}", found.members, forward, forward * found.backward)


def _share_out_bytes(arrows: Iterable[Arrow], frames: tuple[CollectiveFrame, ...]) -> Iterator[Arrow]:
    """``arrows``, with the bytes of every collective shared out over its ways, by what each way brings.

    Only of an all-reduce is that less than the way brings, N(N-1)|T| in all: it takes 2(N-1)|T|.
    """
    arrows = list(arrows)
    brought = Counter[int]()
    given = Counter[int]()
    for each in arrows:
        brought[each.frame] += each.forward
    for each in arrows:
        if each.frame < 0:
            yield each
            continue
        start = given[each.frame]
        given[each.frame] = end = start + each.forward
        total = brought[each.frame]
        way = frames[each.frame]
        down, up = (n * end // total - n * start // total for n in (way.forward, way.backward))
        yield replace(each, forward=down, backward=up)


def _gradient_reductions(graph: Graph, itemsize: int) -> Iterator[Reduction]:
    """The all-reduces of gradients: of the outputs of replicas, and of parameters."""
    for part in graph.parts:
        if part.live and part.members and part is part.members[0]:
            members = tuple(sorted(p.worker for p in part.members))
            name = f"all-reduce of the gradient of {graph.net.nodes[part.node].name}"
            nbytes = _allreduce_elements(members, size(part.region)) * itemsize
            yield Reduction(name, members, nbytes, boxes=tuple(p.name for p in part.members))
    for bucket in graph.buckets:
        cells = tuple(f"{cell.parameter.name}[{_box_text(cell.box)}]" for cell in bucket.cells)
        gradients = f"the gradient{'s' * (len(cells) > 1)} of {_bucket_parameters(bucket)}"
        name = (
            f"reduce-scatter of {gradients}, all-gather of the values"
            if bucket.sharded
            else f"all-reduce of {gradients}"
        )
        yield Reduction(
            name, bucket.workers, _allreduce_elements(bucket.workers, bucket.elements) * itemsize, parameters=cells
        )


def _allreduce_elements(members: tuple[int, ...], elements: int) -> int:
    """Elements that an all-reduce moves, however it is carried out."""
    return 2 * (len(members) - 1) * elements


def _bucket_parameters(bucket: Bucket) -> str:
    """The parameters of a bucket in words."""
    names = list(dict.fromkeys(cell.parameter.name for cell in bucket.cells))
    return ", ".join(names) if len(names) <= NAMED else f"{names[0]} to {names[-1]}, {len(names)} parameters"


def _uncut_graph(net: Net) -> Graph:
    """``net`` as a Graph on one worker: the rewrite adds nothing to it."""
    return partition_net(net, [single_placement(0, node.layer.output) for node in net.nodes], 1)


def _part_box(graph: Graph, part: Part) -> PartBox:
    """The Box of one part."""
    layer = graph.net.nodes[part.node].layer
    spec = layer.outputs[part.output]
    shape = graph.shape(part)
    extent = f"{spec.rows} records" if spec.dtype == RECORD else "×".join(map(str, shape))
    return PartBox(
        part.name,
        part.kind,
        layer.name,
        _part_type(layer, part),
        shape,
        extent,
        _held_elements(layer, spec, part),
        part.worker,
    )


def _feed_arrow(graph: Graph, part: Part, feed: PartInput, itemsize: int, pieces: dict[int, int]) -> Arrow:
    """The Arrow of one feed of ``part``; a collective's carry what they bring."""
    source = feed.part
    if source.worker == part.worker:
        return Arrow(source.name, part.name, False, feed.gradient)
    spec = graph.net.nodes[part.node].layer.outputs[part.output]
    forward = size(feed.region) * (LABEL_BYTES if spec.dtype == INT else itemsize)
    back = forward if feed.gradient else 0
    return Arrow(source.name, part.name, True, feed.gradient, forward, back, pieces.get(part.index, -1))


def _part_type(layer: Layer, part: Part) -> str:
    if part.peer is not None and part.kind == BRIDGE_SRC:
        return f"to worker {part.peer.worker}"
    if part.peer is not None and part.kind == BRIDGE_DST:
        return f"from worker {part.peer.worker}"
    return HELPER_TYPES.get(part.kind) or type_name(layer.conf).removeprefix("k")


def _held_elements(layer: Layer, spec: Spec, part: Part) -> str:
    """``"conv1[0:2, 0:8]"``, and for an addend of a sum the box of the contraction it covers."""
    output = f".{layer.output_names[part.output]}" if part.output else ""
    term = f" over inputs [{_box_text(part.term)}]" if part.term is not None else ""
    return f"{layer.name}{output}[{_box_text(part.region) if spec.shape else '...'}]{term}"


def _box_text(region: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{lo}:{hi}" for lo, hi in region)
