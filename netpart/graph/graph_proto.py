"""Encoding of one worker's parts of a Graph as protobuf messages. Of remote parts only index and worker are kept."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from netpart.graph.build import build_net
from netpart.graph.graph import Collective, Graph, Part, PartInput, WorkerTeams
from netpart.graph.net import Net
from netpart.graph.passes.expand import expand_nodes
from netpart.graph.passes.totals import insert_totals
from netpart.proto.job_pb2 import JobProto
from netpart.proto.plan_pb2 import BlockProto, CollectiveProto, GraphProto, PartProto, PeerProto
from netpart.spec import Region


def encode_graph(graph: Graph, phase: str, worker: int) -> GraphProto:
    """Encode the parts of one worker, in order."""
    parts = [_encode_part(part) for part in graph.parts if part.worker == worker]
    shared = [_encode_collective(c) for c in graph.collectives if worker in c.members]
    net = graph.net
    return GraphProto(
        phase=phase, rows=net.rows, part=parts, total=net.totals, expanded=net.expanded, collective=shared,
        team_of_worker=graph.teams.of_worker, team_of_node=graph.teams.of_node,
    )  # fmt: skip


def _encode_collective(found: Collective) -> CollectiveProto:
    """Encode a collective; all its members get the same message."""
    return CollectiveProto(
        kind=found.kind, name=found.name, dtype=found.dtype, member=found.members,
        block=[BlockProto(region=pack_ranges(b or ())) for b in found.blocks], region=pack_ranges(found.region),
        backward=found.backward, first=found.first, last=found.last,
    )  # fmt: skip


def _decode_collective(m: CollectiveProto) -> Collective:
    """The inverse of ``_encode_collective``."""
    blocks = tuple(unpack_ranges(b.region) or None for b in m.block)
    return Collective(
        m.kind, m.name, m.dtype, tuple(m.member), blocks, unpack_ranges(m.region), m.backward, m.first, m.last
    )  # fmt: skip


def _encode_part(part: Part) -> PartProto:
    """Encode a part; other parts that it refers to are named by index and worker."""
    # Protobuf cannot tell an empty list from a missing one. ``has_term`` and ``has_owned`` keep None apart from (),
    # which is the region of a rank-0 tensor.
    message = PartProto(
        index=part.index, kind=part.kind, name=part.name, node=part.node, output=part.output, shard=part.shard,
        region=pack_ranges(part.region), has_term=part.term is not None, term=pack_ranges(part.term or ()),
        has_owned=part.owned is not None, owned=pack_ranges(chain.from_iterable(part.owned or ())),
        reports=part.reports,
        live=part.live, trains=part.trains, members=[PeerProto(index=m.index, worker=m.worker) for m in part.members],
    )  # fmt: skip
    if part.collective is not None:
        message.collective = part.collective.first
    if part.peer is not None:
        message.peer.index = part.peer.index
        message.peer.worker = part.peer.worker
    for feed in part.feeds:
        message.feed.add(
            part=feed.part.index, k=feed.k, output=feed.output, region=pack_ranges(feed.region), gradient=feed.gradient
        )
    return message


def decode_graph(message: GraphProto, job: JobProto, folder: Path | None, workers: int, worker: int) -> Graph:
    """Decode the parts of ``worker`` on the whole net; a part of another worker becomes a stub."""
    whole = build_net(job, message.phase, folder, rows=message.rows)
    net: Net = insert_totals(expand_nodes(whole, message.expanded), message.total)
    graph = Graph(net, workers, [], collectives=[_decode_collective(c) for c in message.collective])
    graph.teams = WorkerTeams(tuple(message.team_of_worker), tuple(message.team_of_node))
    known: dict[int, Part] = {}
    collectives = {c.first: c for c in graph.collectives}
    for m in message.part:
        part = _decode_part(m, worker)
        part.collective = collectives[m.collective] if m.HasField("collective") else None
        part.feeds = [
            PartInput(
                # Parts arrive in topological order, so a local source is already known. Only a BridgeDst reads another
                # worker, and its one source is its peer.
                known.get(f.part) or _remote_part(f.part, m.peer.worker),
                unpack_ranges(f.region),
                f.k,
                f.output,
                f.gradient,
            )
            for f in m.feed
        ]
        known[part.index] = part
        graph.parts.append(part)
    return graph


def _decode_part(m: PartProto, worker: int) -> Part:
    """Decode one part, without its feeds."""
    part = Part(m.kind, m.name, worker, m.node, unpack_ranges(m.region), m.output, m.shard)
    part.index = m.index
    part.live = m.live
    part.reports = m.reports
    part.trains = tuple(m.trains)
    part.term = unpack_ranges(m.term) if m.has_term else None
    part.owned = _unpack_boxes(m.owned, len(part.region)) if m.has_owned else None
    part.members = tuple(_remote_part(p.index, p.worker) for p in m.members)
    part.peer = _remote_part(m.peer.index, m.peer.worker) if m.HasField("peer") else None
    return part


def _remote_part(index: int, worker: int) -> Part:
    """A stub for a part of another worker: only its index and worker are known."""
    part = Part("remote", f"part {index}", worker, -1, ())
    part.index = index
    return part


def pack_ranges(pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Flatten ranges to lo, hi of each, in order."""
    return list(chain.from_iterable(pairs))


def unpack_ranges(numbers: Iterable[int]) -> Region:
    """The inverse of ``pack_ranges``."""
    values = list(numbers)
    return tuple(zip(values[::2], values[1::2], strict=True))


def _unpack_boxes(numbers: Iterable[int], rank: int) -> tuple[Region, ...]:
    """Decode consecutive regions of ``rank`` axes each."""
    pairs = unpack_ranges(numbers)
    return tuple(pairs[i : i + rank] for i in range(0, len(pairs), rank))
