"""A worker's share of a Partition as bytes, and back: how plans travel."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from google.protobuf.message import DecodeError

from netpart.errors import NetpartError
from netpart.graph.build import build_net
from netpart.graph.graph import Collective, Feed, Graph, Part, Teams
from netpart.graph.holdings import Bucket, Cell, Holding, Piece
from netpart.graph.net import Net, Parameter
from netpart.graph.partition import Micro, Partition
from netpart.graph.passes.expand import expand_nodes
from netpart.graph.passes.norm import Norm
from netpart.graph.passes.totals import insert_totals
from netpart.proto.job_pb2 import JobProto
from netpart.proto.plan_pb2 import (
    BlockProto,
    BoxProto,
    CollectiveProto,
    GraphProto,
    PartProto,
    PeerProto,
    PieceProto,
    PlanProto,
)
from netpart.spec import Region

MOST_WORKERS = 1 << 16


def encode(partition: Partition, worker: int) -> bytes:
    """The parts, holdings and buckets of ``worker`` as a serialized PlanProto; the job travels with them."""
    plan = PlanProto(job=partition.job.SerializeToString(), workers=partition.workers, worker=worker)
    numbers: dict[int, int] = {}
    for phase, micros in partition.phases.items():
        entry = plan.phase.add(phase=phase)
        for micro in micros:
            if id(micro.graph) not in numbers:
                numbers[id(micro.graph)] = len(plan.graph)
                plan.graph.append(encode_graph(micro.graph, phase, worker))
            entry.micro.add(graph=numbers[id(micro.graph)], lo=micro.rows[0], hi=micro.rows[1])
    for h in partition.holdings[worker]:
        plan.holding.add(parameter=h.parameter.name, box=flat(h.box), part=flat(h.part or ()))
    for bucket in partition.buckets:
        cells = [encode_box(c.parameter, c.box) for c in bucket.cells]
        plan.bucket.add(worker=bucket.workers, cell=cells, sharded=bucket.sharded)
    plan.trained.extend(sorted(partition.trained))
    if partition.norm:
        plan.norm.extend(partition.norm.workers)
        mine = partition.norm.counted[worker : worker + 1]
        plan.counted.extend(encode_box(c.parameter, c.box) for cells in mine for c in cells)
    plan.servers = partition.servers
    plan.piece.extend(encode_piece(p) for p in partition.pieces if worker in (p.server, p.pusher, *p.pullers))
    return plan.SerializeToString()


def decode(data: bytes, folder: Path | None = None) -> tuple[Partition, int]:
    """The Partition as its worker needs it (other workers' parts are missing), and the worker's rank.

    Raises NetpartError for bytes that are no plan of this version of netpart.
    """
    try:
        plan = PlanProto.FromString(data)
        if not 0 <= plan.worker < plan.workers <= MOST_WORKERS:
            raise ValueError(f"worker {plan.worker} of {plan.workers}")
        return restored(plan, folder)
    except (DecodeError, ValueError, KeyError, IndexError, TypeError) as error:
        got = f"{type(error).__name__}: {error}"
        raise NetpartError(f"plan: expected one that this netpart has written, got {got}; check versions") from error


def restored(plan: PlanProto, folder: Path | None) -> tuple[Partition, int]:
    """What ``decode`` returns, from a plan that was parsed."""
    job = JobProto.FromString(plan.job)
    graphs = [decode_graph(g, job, folder, plan) for g in plan.graph]
    phases = {p.phase: [Micro(graphs[m.graph], (m.lo, m.hi)) for m in p.micro] for p in plan.phase}
    named = {p.name: p for g in reversed(graphs) for p in g.net.parameters}
    holdings: list[list[Holding]] = [[] for _ in range(plan.workers)]
    holdings[plan.worker] = [Holding(named[b.parameter], region(b.box), region(b.part) or None) for b in plan.holding]

    def cells(boxes: Iterable[BoxProto]) -> tuple[Cell, ...]:
        return tuple(Cell(named[b.parameter], region(b.box)) for b in boxes)

    buckets = [Bucket(tuple(b.worker), cells(b.cell), b.sharded) for b in plan.bucket]
    counted = tuple(cells(plan.counted if w == plan.worker else ()) for w in range(plan.workers))
    norm = Norm(tuple(plan.norm), counted) if plan.norm else None
    trained, pieces = (
        set(plan.trained),
        [
            Piece(named[p.box.parameter], region(p.box.box), p.number, p.server, p.pusher, tuple(p.puller))
            for p in plan.piece
        ],
    )
    found = Partition(job, plan.workers, phases, holdings, buckets, [], trained, norm, plan.servers, pieces)
    return found, plan.worker


def flat(pairs: Iterable[tuple[int, int]]) -> list[int]:
    """lo, hi of every range, in a row."""
    return list(chain.from_iterable(pairs))


def region(numbers: Iterable[int]) -> Region:
    """The inverse of ``flat``."""
    values = list(numbers)
    return tuple(zip(values[::2], values[1::2], strict=True))


def boxes(numbers: Iterable[int], rank: int) -> tuple[Region, ...]:
    """Regions of ``rank`` axes, one after the other."""
    pairs = region(numbers)
    return tuple(pairs[i : i + rank] for i in range(0, len(pairs), rank))


def encode_piece(piece: Piece) -> PieceProto:
    """All of a piece."""
    box = encode_box(piece.parameter, piece.box)
    return PieceProto(box=box, number=piece.number, server=piece.server, pusher=piece.pusher, puller=piece.pullers)


def encode_box(parameter: Parameter, box: Region) -> BoxProto:
    """A box of a parameter, named."""
    return BoxProto(parameter=parameter.name, box=flat(box))


def encode_graph(graph: Graph, phase: str, worker: int) -> GraphProto:
    """The parts of one worker, in order."""
    parts = [encode_part(part) for part in graph.parts if part.worker == worker]
    shared = [encode_collective(c) for c in graph.collectives if worker in c.members]
    net = graph.net
    return GraphProto(
        phase=phase, rows=net.rows, part=parts, total=net.totals, expanded=net.expanded, collective=shared,
        team_of_worker=graph.teams.of_worker, team_of_node=graph.teams.of_node,
    )  # fmt: skip


def encode_collective(found: Collective) -> CollectiveProto:
    """All of a collective."""
    return CollectiveProto(
        kind=found.kind, name=found.name, dtype=found.dtype, member=found.members,
        block=[BlockProto(region=flat(b or ())) for b in found.blocks], region=flat(found.region),
        backward=found.backward, first=found.first, last=found.last,
    )  # fmt: skip


def decode_collective(m: CollectiveProto) -> Collective:
    """The inverse of ``encode_collective``."""
    blocks = tuple(region(b.region) or None for b in m.block)
    return Collective(
        m.kind, m.name, m.dtype, tuple(m.member), blocks, region(m.region), m.backward, m.first, m.last
    )  # fmt: skip


def encode_part(part: Part) -> PartProto:
    """All of a part; the others that it knows are named by index and worker."""
    message = PartProto(
        index=part.index, kind=part.kind, name=part.name, node=part.node, output=part.output, shard=part.shard,
        region=flat(part.region), has_term=part.term is not None, term=flat(part.term or ()),
        has_owned=part.owned is not None, owned=flat(chain.from_iterable(part.owned or ())), reports=part.reports,
        live=part.live, trains=part.trains, members=[PeerProto(index=m.index, worker=m.worker) for m in part.members],
    )  # fmt: skip
    if part.collective is not None:
        message.collective = part.collective.first
    if part.peer is not None:
        message.peer.index, message.peer.worker = part.peer.index, part.peer.worker
    for feed in part.feeds:
        message.feed.add(
            part=feed.part.index, k=feed.k, output=feed.output, region=flat(feed.region), gradient=feed.gradient
        )
    return message


def decode_graph(message: GraphProto, job: JobProto, folder: Path | None, plan: PlanProto) -> Graph:
    """The parts of the worker that ``plan`` is for, on the whole net; what they hear from elsewhere is a stub."""
    whole = build_net(job, message.phase, folder, rows=message.rows)
    net: Net = insert_totals(expand_nodes(whole, message.expanded), message.total)
    graph = Graph(net, plan.workers, [], collectives=[decode_collective(c) for c in message.collective])
    graph.teams = Teams(tuple(message.team_of_worker), tuple(message.team_of_node))
    known: dict[int, Part] = {}
    collectives = {c.first: c for c in graph.collectives}
    for m in message.part:
        part = decode_part(m, plan.worker)
        part.collective = collectives[m.collective] if m.HasField("collective") else None
        part.feeds = [
            Feed(known.get(f.part) or stub(f.part, m.peer.worker), region(f.region), f.k, f.output, f.gradient)
            for f in m.feed
        ]
        known[part.index] = part
        graph.parts.append(part)
    return graph


def decode_part(m: PartProto, worker: int) -> Part:
    """One part without its feeds."""
    part = Part(m.kind, m.name, worker, m.node, region(m.region), m.output, m.shard)
    part.index, part.live, part.reports, part.trains = m.index, m.live, m.reports, tuple(m.trains)
    part.term = region(m.term) if m.has_term else None
    part.owned = boxes(m.owned, len(part.region)) if m.has_owned else None
    part.members = tuple(stub(p.index, p.worker) for p in m.members)
    part.peer = stub(m.peer.index, m.peer.worker) if m.HasField("peer") else None
    return part


def stub(index: int, worker: int) -> Part:
    """A part of another worker: only its index and worker are known here."""
    part = Part("remote", f"part {index}", worker, -1, ())
    part.index = index
    return part
