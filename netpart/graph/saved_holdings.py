"""Saved holdings: which worker writes which regions into checkpoints, and the memory of the copies that it writes."""

from __future__ import annotations

from netpart.graph.partition import Partition
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import JobProto
from netpart.spec import Region, contains, size


def assign_checkpoint_writes(partition: Partition) -> list[list[int]]:
    """For each worker, the holdings whose home region it writes.

    Of several copies, the worker of the lowest rank writes its copy. With servers, the servers write everything.
    """
    written: dict[str, list[Region]] = {}
    workers = partition.workers - partition.servers
    result: list[list[int]] = [[] for _ in range(workers)] if partition.servers else []
    for holdings in partition.holdings[len(result) :]:
        mine = []
        for h, holding in enumerate(holdings):
            boxes = written.setdefault(holding.parameter.name, [])
            if not any(contains(b, holding.home) for b in boxes):
                mine.append(h)
        # Registered only now, so that holdings of the same worker never exclude each other.
        for h in mine:
            written[holdings[h].parameter.name].append(holdings[h].home)
        result.append(mine)
    return result


def saves_midway(job: JobProto) -> bool:
    """True if checkpoints are written while ``job`` trains, and not only at its end."""
    return job.checkpoint_freq > 0 or job.HasField("checkpoint_best")


def list_staged_bytes(partition: Partition, slots: int) -> list[int]:
    """For each worker of a group, and each server: bytes of the copies from which it writes a checkpoint while it
    trains on. The updater keeps ``slots`` arrays per parameter."""
    if not saves_midway(partition.job):
        return [0] * partition.workers
    element = (1 + slots) * float_size(partition.job)
    writes = assign_checkpoint_writes(partition)
    pairs = zip(partition.holdings, writes, strict=True)
    return [element * sum(size(holdings[h].home) for h in mine) for holdings, mine in pairs]
