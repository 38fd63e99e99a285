"""Ledger: the payload bytes of one step, per edge and direction, from the graph alone.

What is predicted here is what the transports count: every bridge forward, and backward if a gradient returns;
every chunk of the rings that sum parameter gradients and the gradients of replicas. Headers, and the empty
messages that say a step is done, carry no payload.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from netpart.collectives import all_reduce
from netpart.graph.graph import Graph
from netpart.graph.partition import Partition
from netpart.program.compile import PHASE_CODES
from netpart.program.instructions import Channel, Way
from netpart.proto.element import float_size
from netpart.spec import INT, size


@dataclass(frozen=True)
class Entry:
    """Bytes that cross from ``source`` to ``target`` on one channel in one step."""

    name: str
    channel: Channel
    source: int
    target: int
    nbytes: int


@dataclass(frozen=True)
class Ledger:
    """All entries of one phase."""

    phase: str
    entries: tuple[Entry, ...]

    @cached_property
    def total(self) -> int:
        """Bytes between all workers."""
        return sum(e.nbytes for e in self.entries)

    def sent(self, worker: int) -> int:
        """Bytes that leave ``worker``."""
        return sum(e.nbytes for e in self.entries if e.source == worker)

    def by_channel(self, worker: int) -> dict[Channel, int]:
        """Bytes per channel that ``worker`` sends, as its ``Transport.counts`` has them."""
        return {e.channel: e.nbytes for e in self.entries if e.source == worker}

    def __repr__(self) -> str:
        return f"Ledger({self.phase}, {len(self.entries)} messages, {self.total} bytes)"


def ledger(partition: Partition, phase: str = "train") -> Ledger:
    """What one step (one mini-batch) of ``phase`` sends, in bytes."""
    width = float_size(partition.job)
    code = PHASE_CODES[phase]
    entries: list[Entry] = []
    for m, micro in enumerate(partition.phases[phase]):
        entries += bridges(micro.graph, m, code, width)
        if phase == "train":
            entries += replicas(micro.graph, m, code, width)
    if phase == "train":
        for b, bucket in enumerate(partition.buckets):
            channel = Channel(code, Way.BUCKET, 0, b)
            entries += ring(f"bucket {b}", channel, bucket.workers, bucket.elements, width)
    return Ledger(phase, tuple(entries))


def bridges(graph: Graph, micro: int, phase: int, width: int) -> Iterator[Entry]:
    """Both directions of every bridge; gradients return in training only."""
    for bridge in graph.bridges():
        nbytes = bridge.elements * (4 if bridge.dtype == INT else width)
        source, target = bridge.source.worker, bridge.target.worker
        forward = Channel(phase, Way.FORWARD, micro, bridge.target.index)
        yield Entry(bridge.source.name, forward, source, target, nbytes)
        if bridge.backward and phase == PHASE_CODES["train"]:
            yield Entry(bridge.target.name, forward._replace(way=Way.BACKWARD), target, source, nbytes)


def replicas(graph: Graph, micro: int, phase: int, width: int) -> Iterator[Entry]:
    """The rings that make the partial gradients of replicas whole."""
    for part in graph.parts:
        if part.live and part.members and part is part.members[0]:
            workers = tuple(sorted(p.worker for p in part.members))
            channel = Channel(phase, Way.REDUCE, micro, min(p.index for p in part.members))
            yield from ring(f"d({part.name})", channel, workers, size(part.region), width)


def ring(name: str, channel: Channel, workers: tuple[int, ...], elements: int, width: int) -> Iterator[Entry]:
    """Every chunk of a ring all-reduce."""
    for worker, steps in all_reduce(workers, elements).items():
        for chunk, step in enumerate(steps):
            nbytes = (step.send[1] - step.send[0]) * width
            if nbytes:
                yield Entry(name, channel._replace(chunk=chunk), worker, step.send_to, nbytes)
