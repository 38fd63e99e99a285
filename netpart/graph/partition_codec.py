"""Serialization of a worker's share of a Partition, in which form plans are sent to workers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from google.protobuf.message import DecodeError

from netpart.errors import NetpartError
from netpart.graph.graph_proto import decode_graph, encode_graph, pack_ranges, unpack_ranges
from netpart.graph.holdings import Bucket, Holding, ParameterCell, ServerPiece
from netpart.graph.net import Parameter
from netpart.graph.partition import MicroBatch, Partition
from netpart.graph.passes.norm import GradientNorm
from netpart.proto.job_pb2 import JobProto
from netpart.proto.plan_pb2 import BoxProto, PieceProto, PlanProto
from netpart.spec import Region

MOST_WORKERS = 1 << 16
"""Bound on the number of workers in a plan, so that a corrupt message cannot make the decoder allocate huge lists."""


def encode_partition(partition: Partition, worker: int) -> bytes:
    """Serialize the parts, holdings and buckets of ``worker`` as a PlanProto, together with the job."""
    plan = PlanProto(job=partition.job.SerializeToString(), workers=partition.workers, worker=worker)
    numbers: dict[int, int] = {}
    for phase, micros in partition.phases.items():
        entry = plan.phase.add(phase=phase)
        for micro in micros:
            # Micro-batches of equal size share a graph object; it is written once and referred to by number.
            if id(micro.graph) not in numbers:
                numbers[id(micro.graph)] = len(plan.graph)
                plan.graph.append(encode_graph(micro.graph, phase, worker))
            entry.micro.add(graph=numbers[id(micro.graph)], lo=micro.rows[0], hi=micro.rows[1])
    for h in partition.holdings[worker]:
        plan.holding.add(parameter=h.parameter.name, box=pack_ranges(h.box), part=pack_ranges(h.part or ()))
    for bucket in partition.buckets:
        cells = [_encode_box(c.parameter, c.box) for c in bucket.cells]
        plan.bucket.add(worker=bucket.workers, cell=cells, sharded=bucket.sharded)
    plan.trained.extend(sorted(partition.trained))
    if partition.norm:
        plan.norm.extend(partition.norm.workers)
        # A slice, not an index: servers have no entry in ``counted``.
        mine = partition.norm.counted[worker : worker + 1]
        plan.counted.extend(_encode_box(c.parameter, c.box) for cells in mine for c in cells)
    plan.servers = partition.servers
    plan.piece.extend(_encode_piece(p) for p in partition.pieces if worker in (p.server, p.pusher, *p.pullers))
    return plan.SerializeToString()


def decode_partition(data: bytes, folder: Path | None = None) -> tuple[Partition, int]:
    """The Partition as its worker needs it (without other workers' parts), and the worker's rank.

    Raises NetpartError for bytes that are not a plan of this version of netpart.
    """
    try:
        plan = PlanProto.FromString(data)
        if not 0 <= plan.worker < plan.workers <= MOST_WORKERS:
            raise ValueError(f"worker {plan.worker} of {plan.workers}")
        return _restore_partition(plan, folder)
    except (DecodeError, ValueError, KeyError, IndexError, TypeError) as error:
        got = f"{type(error).__name__}: {error}"
        raise NetpartError(f"plan: expected one that this netpart has written, got {got}; check versions") from error


def _restore_partition(plan: PlanProto, folder: Path | None) -> tuple[Partition, int]:
    """The result of ``decode_partition``, from a parsed plan."""
    job = JobProto.FromString(plan.job)
    graphs = [decode_graph(g, job, folder, plan.workers, plan.worker) for g in plan.graph]
    phases = {p.phase: [MicroBatch(graphs[m.graph], (m.lo, m.hi)) for m in p.micro] for p in plan.phase}
    # Reversed, as in ``Partition.parameters``: of several phases, the parameter object of the first one is used.
    named = {p.name: p for g in reversed(graphs) for p in g.net.parameters}
    holdings: list[list[Holding]] = [[] for _ in range(plan.workers)]
    holdings[plan.worker] = [
        Holding(named[b.parameter], unpack_ranges(b.box), unpack_ranges(b.part) or None) for b in plan.holding
    ]

    def cells(boxes: Iterable[BoxProto]) -> tuple[ParameterCell, ...]:
        return tuple(ParameterCell(named[b.parameter], unpack_ranges(b.box)) for b in boxes)

    buckets = [Bucket(tuple(b.worker), cells(b.cell), b.sharded) for b in plan.bucket]
    counted = tuple(cells(plan.counted if w == plan.worker else ()) for w in range(plan.workers))
    norm = GradientNorm(tuple(plan.norm), counted) if plan.norm else None
    trained, pieces = (
        set(plan.trained),
        [
            ServerPiece(named[p.box.parameter], unpack_ranges(p.box.box), p.number, p.server, p.pusher, tuple(p.puller))
            for p in plan.piece
        ],
    )
    found = Partition(job, plan.workers, phases, holdings, buckets, [], trained, norm, plan.servers, pieces)
    return found, plan.worker


def _encode_piece(piece: ServerPiece) -> PieceProto:
    """Encode a piece of a parameter that a server keeps."""
    box = _encode_box(piece.parameter, piece.box)
    return PieceProto(box=box, number=piece.number, server=piece.server, pusher=piece.pusher, puller=piece.pullers)


def _encode_box(parameter: Parameter, box: Region) -> BoxProto:
    """Encode a box of a parameter, with the parameter's name."""
    return BoxProto(parameter=parameter.name, box=pack_ranges(box))
