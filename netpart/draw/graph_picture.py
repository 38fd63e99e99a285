"""Picture of a graph: converts parts, feeds and collectives to boxes, arrows and frames."""

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
from netpart.proto.nameless_conf import nameless_conf
from netpart.spec import INT, RECORD, Spec, single_placement, size

if TYPE_CHECKING:
    from netpart.graph.holdings import Bucket

HELPER_TYPES = {"slice": "Slice", "split": "Split", "concate": "Concate", "sum": "Sum"}
LABEL_BYTES = 4
"""Bytes of a label, an int32 for every dtype of the job."""
NAMED = 4
"""Up to this many parameters of a bucket are all named."""


def make_picture(drawn: Graph | Net, itemsize: int = 4) -> Picture:
    """Make the Picture of a partitioned net; an uncut one is drawn as if on one worker.

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
        {node.layer.name: nameless_conf(node.conf) for node in graph.net.nodes},
    )  # fmt: skip


def _collective_pieces(graph: Graph) -> dict[int, int]:
    """The number of the collective to which each helper belongs, by the helper's index.

    A Concate whose received inputs all come from one collective belongs to it too.
    """
    numbers = {id(found): n for n, found in enumerate(graph.collectives)}
    pieces = {p.index: numbers[id(p.collective)] for p in graph.parts if p.collective is not None}
    for part in graph.parts:
        brought = {pieces.get(f.part.index) for f in part.feeds if f.part.kind == BRIDGE_DST}
        if part.kind == CONCATE and len(brought) == 1 and (number := brought.pop()) is not None:
            pieces[part.index] = number
    return pieces


def _frame_collective(number: int, found: Collective, itemsize: int) -> CollectiveFrame:
    """The CollectiveFrame of a collective."""
    item = LABEL_BYTES if found.dtype == INT else itemsize
    forward = found.elements * item
    return CollectiveFrame(number, f"{found.kind} {found.name}", found.members, forward, forward * found.backward)


def _share_out_bytes(arrows: Iterable[Arrow], frames: tuple[CollectiveFrame, ...]) -> Iterator[Arrow]:
    """``arrows``, with the bytes of every collective divided among its arrows in proportion to what each carries.

    Only for an all-reduce is an arrow's share less than what it carries: its arrows carry N(N-1)|T| in all, while the
    collective moves 2(N-1)|T|.
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
        # Differences of rounded-down running sums: the shares are whole numbers and add up to the total exactly.
        total = brought[each.frame]
        way = frames[each.frame]
        down, up = (n * end // total - n * start // total for n in (way.forward, way.backward))
        yield replace(each, forward=down, backward=up)


def _gradient_reductions(graph: Graph, itemsize: int) -> Iterator[Reduction]:
    """The all-reduces of gradients: of the outputs of replicas, and of parameters."""
    for part in graph.parts:
        # Each member has the list of all members: only the first one reports the all-reduce.
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
        moved = tuple(_allreduce_elements(bucket.workers, size(cell.box)) * itemsize for cell in bucket.cells)
        yield Reduction(name, bucket.workers, sum(moved), parameters=cells, cell_bytes=moved)


def _allreduce_elements(members: tuple[int, ...], elements: int) -> int:
    """Elements that an all-reduce moves, the same for every algorithm: 2 (N - 1) times the tensor."""
    return 2 * (len(members) - 1) * elements


def _bucket_parameters(bucket: Bucket) -> str:
    """The names of a bucket's parameters as text; of many only the first and the last."""
    names = list(dict.fromkeys(cell.parameter.name for cell in bucket.cells))
    return ", ".join(names) if len(names) <= NAMED else f"{names[0]} to {names[-1]}, {len(names)} parameters"


def _uncut_graph(net: Net) -> Graph:
    """``net`` as a Graph on one worker, to which the partition adds no helpers."""
    return partition_net(net, [single_placement(0, node.layer.output) for node in net.nodes], 1)


def _part_box(graph: Graph, part: Part) -> PartBox:
    """The PartBox of one part."""
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
    """The Arrow of one feed of ``part``. Within a worker it has no bytes."""
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
    """The elements of a part as text: ``"conv1[0:2, 0:8]"``; for an addend of a sum also its box of the contraction."""
    output = f".{layer.output_names[part.output]}" if part.output else ""
    term = f" over inputs [{_box_text(part.term)}]" if part.term is not None else ""
    return f"{layer.name}{output}[{_box_text(part.region) if spec.shape else '...'}]{term}"


def _box_text(region: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{lo}:{hi}" for lo, hi in region)
