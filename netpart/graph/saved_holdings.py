"""Saved holdings: which worker writes which regions into checkpoints, and the memory of the copies that it writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from netpart.box_index import BoxIndex
from netpart.graph.holdings import Holding
from netpart.graph.partition import Partition
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import JobProto
from netpart.spec import Region, Shape, size

SavedTensors = dict[str, tuple[str, Shape]]
"""By name, the dtype in the file, F32 or F64, and the shape."""


def assign_checkpoint_writes(partition: Partition) -> list[list[int]]:
    """For each worker, the holdings whose home region it writes.

    Of several copies, the worker of the lowest rank writes its copy. With servers, the servers write everything.
    """
    workers = partition.workers - partition.servers
    result: list[list[int]] = [[] for _ in range(workers)] if partition.servers else []
    holders = partition.holdings[len(result) :]
    first = _first_holders(holders)
    found = {name: (homes, list(homes.values()), BoxIndex(list(homes))) for name, homes in first.items()}
    for worker, holdings in enumerate(holders):
        result.append([])
        for h, holding in enumerate(holdings):
            homes, ranks, index = found[holding.parameter.name]
            # What an earlier worker has is written by it, or is a part of what one before it writes.
            earlier = homes[holding.home] < worker or any(
                ranks[box] < worker for box in index.find_containing(holding.home)
            )
            if not earlier:
                result[-1].append(h)
    return result


def _first_holders(holders: Sequence[Sequence[Holding]]) -> dict[str, dict[Region, int]]:
    """By parameter and home region, the first worker that holds it."""
    found: dict[str, dict[Region, int]] = defaultdict(dict)
    for worker, holdings in enumerate(holders):
        for holding in holdings:
            found[holding.parameter.name].setdefault(holding.home, worker)
    return found


def list_saved_tensors(partition: Partition, slots: Iterable[str]) -> tuple[SavedTensors, SavedTensors]:
    """The tensors of a checkpoint: parameters, and the states ``slots`` of the updater."""
    dtype = f"F{8 * float_size(partition.job)}"
    parameters = {p.name: (dtype, p.spec.saved or p.spec.shape) for p in partition.parameters}
    states = {f"{name}.{slot}": parameters[name] for slot in slots for name in parameters}
    return parameters, states


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
