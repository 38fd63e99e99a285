"""Ledger: the payload bytes of one step, per edge and direction, computed from the graph alone.

The prediction equals the byte counts of the transports. It covers every bridge forward, and backward if a gradient
returns; every message of the collectives that bridges form, and of those that sum gradients of parameters and replicas;
pushes to servers and pulls from them; and averages of groups. Headers, and the empty messages that end a step, carry no
payload.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from netpart.graph.graph import Graph
from netpart.graph.partition import Partition
from netpart.program.buffers import item_size
from netpart.program.collective_instructions import ExchangeFactory
from netpart.program.exchange import Exchange
from netpart.program.gradient_norm import NORM_DTYPE
from netpart.program.group_average import AVERAGE, averaging_exchange
from netpart.program.instructions import PHASE_CODES, Channel, Way
from netpart.program.server_messages import is_pulled, is_pushed, norm_channel, pull_channel, push_channel
from netpart.spec import extent, size, whole_region


@dataclass(frozen=True)
class LedgerEntry:
    """Bytes that cross from ``source`` to ``target`` on one channel in one step; of a collective, these ``blocks``."""

    name: str
    channel: Channel
    source: int
    target: int
    nbytes: int
    blocks: tuple[int, ...] = ()

    @property
    def sent(self) -> dict[int, int]:
        """Bytes that each worker sends."""
        return {self.source: self.nbytes}

    @property
    def received(self) -> dict[int, int]:
        """Bytes that each worker receives."""
        return {self.target: self.nbytes}

    def entries(self) -> Iterator[LedgerEntry]:
        """The entry itself."""
        yield self


@dataclass(frozen=True)
class LedgerExchange:
    """All messages of one collective, of ``width`` bytes an element. There are n² of them for n members, so they are
    listed only on request."""

    name: str
    channel: Channel
    exchange: Exchange
    width: int

    @cached_property
    def nbytes(self) -> int:
        """Bytes of all messages."""
        return sum(self.sent.values())

    @property
    def sent(self) -> dict[int, int]:
        """Bytes that each member sends."""
        return {worker: elements * self.width for worker, elements in self.exchange.traffic[0].items()}

    @property
    def received(self) -> dict[int, int]:
        """Bytes that each member receives."""
        return {worker: elements * self.width for worker, elements in self.exchange.traffic[1].items()}

    def entries(self) -> Iterator[LedgerEntry]:
        """An entry for every message."""
        found = self.exchange
        for index, m in enumerate(found.schedule):
            channel = self.channel._replace(chunk=index)
            nbytes = found.elements(m.blocks) * self.width
            # In a swap both members send their own addends at once: these blocks wait for nothing.
            blocks = () if m.own else m.blocks
            yield LedgerEntry(self.name, channel, found.members[m.source], found.members[m.target], nbytes, blocks)


LedgerFlow = LedgerEntry | LedgerExchange
"""One message, or those of one collective."""


@dataclass(frozen=True)
class Ledger:
    """All messages of one phase."""

    phase: str
    flows: tuple[LedgerFlow, ...]

    @cached_property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Every single message."""
        return tuple(entry for flow in self.flows for entry in flow.entries())

    @cached_property
    def total(self) -> int:
        """Bytes sent between all workers."""
        return sum(flow.nbytes for flow in self.flows)

    @cached_property
    def sent(self) -> Counter[int]:
        """Bytes sent by each worker."""
        found = Counter[int]()
        for flow in self.flows:
            for worker, nbytes in flow.sent.items():
                found[worker] += nbytes
        return found

    def by_channel(self, worker: int) -> dict[Channel, int]:
        """Bytes per channel that ``worker`` sends, as in its ``Transport.counts``."""
        return {e.channel: e.nbytes for e in self.entries if e.source == worker}

    def __repr__(self) -> str:
        return f"Ledger({self.phase}, {len(self.entries)} messages, {self.total} bytes)"


def compute_ledger(partition: Partition, phase: str = "train", group: int = 0) -> Ledger:
    """The messages of one step (one mini-batch) of ``phase`` within ``group``, and to and from servers, in bytes."""
    exchanges = ExchangeFactory(partition.job, partition.workers)
    code = PHASE_CODES[phase]
    entries: list[LedgerFlow] = []
    for m, micro in enumerate(partition.phases[phase]):
        entries += _bridge_entries(micro.graph, m, code, exchanges.width)
        entries += _collective_entries(micro.graph, m, code, exchanges)
        if phase == "train":
            entries += _replica_entries(micro.graph, m, code, exchanges)
    if phase == "train":
        for b, bucket in enumerate(partition.buckets):
            for way, found in exchanges.of_bucket(bucket).items():
                entries.append(LedgerExchange(f"bucket {b}", Channel(code, way, 0, b), found, exchanges.width))
        entries += _norm_entries(partition, code, exchanges)
        entries += push_entries(partition, group, exchanges.width)
        entries += pull_entries(partition, group, exchanges.width)
    return Ledger(phase, tuple(entries))


def _bridge_entries(graph: Graph, micro: int, phase: int, width: int) -> Iterator[LedgerEntry]:
    """Both directions of every bridge that is not part of a collective; gradients return in training only."""
    for bridge in graph.bridges():
        if bridge.target.collective is not None:
            continue
        nbytes = bridge.elements * item_size(bridge.dtype, width)
        source = bridge.source.worker
        target = bridge.target.worker
        forward = Channel(phase, Way.FORWARD, micro, bridge.target.index)
        yield LedgerEntry(bridge.source.name, forward, source, target, nbytes)
        if bridge.backward and phase == PHASE_CODES["train"]:
            yield LedgerEntry(bridge.target.name, forward._replace(way=Way.BACKWARD), target, source, nbytes)


def _collective_entries(graph: Graph, micro: int, phase: int, exchanges: ExchangeFactory) -> Iterator[LedgerFlow]:
    """Both directions of every collective."""
    for found in graph.collectives:
        width = item_size(found.dtype, exchanges.width)
        channel = Channel(phase, Way.FORWARD, micro, found.first)
        yield LedgerExchange(f"{found.kind} {found.name}", channel, exchanges.of_collective(found), width)
        if found.backward and phase == PHASE_CODES["train"]:
            back = exchanges.of_collective(found, backward=True)
            yield LedgerExchange(f"{back.kind} d({found.name})", channel._replace(way=Way.BACKWARD), back, width)


def _replica_entries(graph: Graph, micro: int, phase: int, exchanges: ExchangeFactory) -> Iterator[LedgerFlow]:
    """The all-reduces that complete the partial gradients of replicas."""
    for part in graph.parts:
        # Every member lists all members; only the first one is counted.
        if part.live and part.members and part is part.members[0]:
            workers = tuple(sorted(p.worker for p in part.members))
            channel = Channel(phase, Way.REDUCE, micro, min(p.index for p in part.members))
            region = whole_region(extent(part.region))
            element = graph.net.element(part.node, part.output)
            found = exchanges.summed(workers, region, element)
            yield LedgerExchange(f"d({part.name})", channel, found, item_size(element, exchanges.width))


def _norm_entries(partition: Partition, phase: int, exchanges: ExchangeFactory) -> Iterator[LedgerFlow]:
    """The messages that sum the squared norm of the gradient over all workers, if it is clipped."""
    if partition.norm is not None:
        found = exchanges.summed(partition.norm.workers, ((0, 1),), NORM_DTYPE)
        width = item_size(NORM_DTYPE, 0)
        yield LedgerExchange("norm of the gradient", Channel(phase, Way.NORM, 0, 0), found, width)


def push_entries(partition: Partition, group: int, width: int) -> Iterator[LedgerEntry]:
    """Messages from a group to its servers: gradients, and their norm if it is clipped."""
    for piece in partition.pieces:
        if is_pushed(piece, partition.trained, group):
            name = f"d({piece.parameter.name})"
            channel = push_channel(piece, group)
            yield LedgerEntry(name, channel, piece.pusher, piece.server, size(piece.box) * width)
    if partition.norm is not None:
        for server in range(partition.workers - partition.servers, partition.workers):
            channel = norm_channel(server, group)
            source = partition.norm.workers[0]
            yield LedgerEntry("norm of the gradient", channel, source, server, item_size(NORM_DTYPE, 0))


def pull_entries(partition: Partition, group: int, width: int) -> Iterator[LedgerEntry]:
    """Messages from servers to a group: parameter values, for every worker that holds them."""
    for piece in partition.pieces:
        if is_pulled(piece, partition.trained):
            for worker in piece.pullers:
                channel = pull_channel(piece, group, worker)
                nbytes = size(piece.box) * width
                yield LedgerEntry(piece.parameter.name, channel, piece.server, worker, nbytes)


def average_entries(partition: Partition, number: int, width: int) -> Iterator[LedgerEntry]:
    """Messages of one average of the holdings of worker ``number`` of each group; workers are ranks of the run."""
    cluster = partition.cluster
    if cluster.averages:
        elements = sum(size(holding.box) for holding in partition.holdings[number])
        found = averaging_exchange(cluster, number, elements, width)
        yield from LedgerExchange("average of the groups", AVERAGE, found, width).entries()
