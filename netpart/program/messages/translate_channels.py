"""Communications of a worker, from those of another worker of equal shape: the same verbs on its own channels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from netpart.graph.graph import BRIDGE_DST, Part
from netpart.program.exchange import Exchange
from netpart.program.gradient_norm import NORM_DTYPE
from netpart.program.instructions import PHASE_CODES, Way
from netpart.program.messages.communication import Communication, Phases
from netpart.program.worker_shape import WorkerShape
from netpart.spec import extent, whole_region

BUCKETS = (Way.BUCKET, Way.VALUES)


class ChannelEnd(NamedTuple):
    """What takes the place of a channel's edge on another worker: its edge, its peer, its name, or its exchange."""

    edge: int
    peer: int = -1
    name: str = ""
    exchange: Exchange | None = None


def translate_communications(spoken: Phases, model: WorkerShape, other: WorkerShape) -> Phases:
    """The communications of the worker of shape ``other``; ``spoken`` are those of ``model``, which is equal."""
    ends = dict(_matching_ends(model, other))
    partition = model.partition
    graphs = {PHASE_CODES[phase]: [id(m.graph) for m in micros] for phase, micros in partition.phases.items()}

    def translate(c: Communication) -> Communication:
        at = 0 if c.channel.way in (*BUCKETS, Way.NORM) else graphs[c.channel.phase][c.channel.micro]
        end = ends[at, c.channel.way, c.channel.edge]
        channel = c.channel._replace(edge=end.edge)
        return c._replace(channel=channel, peer=end.peer, name=end.name or c.name, exchange=c.exchange and end.exchange)

    return {phase: [translate(c) for c in found] for phase, found in spoken.items()}


ChannelKey = tuple[int, Way, int]
"""(identity of the graph, or 0 for sums of parameters; way; edge) of a channel."""


def _matching_ends(model: WorkerShape, other: WorkerShape) -> Iterator[tuple[ChannelKey, ChannelEnd]]:
    """For every channel of ``model`` its counterpart of ``other``."""
    for key, parts in model.parts.items():
        for ours, theirs in zip(parts, other.parts[key], strict=True):
            yield from (((key, way, edge), end) for way, edge, end in _part_ends(ours, theirs, other))
    partition = model.partition
    numbers = (partition.bucket_numbers(shape.worker) for shape in (model, other))
    for ours, theirs in zip(*numbers, strict=True):
        for way, found in other.exchanges.of_bucket(partition.buckets[theirs]).items():
            yield (0, way, ours), ChannelEnd(theirs, exchange=found)
    if partition.norm is not None:
        yield (
            (0, Way.NORM, 0),
            ChannelEnd(0, exchange=other.exchanges.summed(partition.norm.workers, ((0, 1),), NORM_DTYPE)),
        )


def _part_ends(ours: Part, theirs: Part, other: WorkerShape) -> Iterator[tuple[Way, int, ChannelEnd]]:
    """The way and the edge of each channel of a part, and its counterpart."""
    if theirs.peer is not None and ours.peer is not None:
        # The receiving half names a bridge in both directions.
        edge = ours.index if ours.kind == BRIDGE_DST else ours.peer.index
        end = ChannelEnd(
            theirs.index if ours.kind == BRIDGE_DST else theirs.peer.index, theirs.peer.worker, theirs.name
        )
        yield from ((way, edge, end) for way in (Way.FORWARD, Way.BACKWARD))
    if ours.collective is not None and theirs.collective is not None:
        for way in (Way.FORWARD, Way.BACKWARD)[: 1 + theirs.collective.backward]:
            found = other.exchanges.of_collective(theirs.collective, way == Way.BACKWARD)
            yield way, ours.collective.first, ChannelEnd(theirs.collective.first, exchange=found)
    if theirs.members:
        workers = tuple(sorted(part.worker for part in theirs.members))
        found = other.exchanges.summed(workers, whole_region(extent(theirs.region)))
        first, second = (min(part.index for part in each.members) for each in (ours, theirs))
        yield Way.REDUCE, first, ChannelEnd(second, exchange=found)
