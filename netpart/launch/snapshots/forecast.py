"""Forecast of the memory that snapshots take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netpart.graph.partition import Partition
from netpart.launch.snapshots.duties import SnapshotDuty, kept_regions, region_names
from netpart.launch.snapshots.store import GENERATIONS


@dataclass(frozen=True)
class SnapshotMemory:
    """Bytes on ``worker``: of one snapshot what it ``copied`` from its own memory, ``taken`` from others and ``sent``
    to its buddy; and ``memory``, what all that it keeps takes."""

    worker: int
    copied: int
    taken: int
    sent: int
    memory: int


def forecast_snapshots(partition: Partition, duties: Sequence[SnapshotDuty]) -> list[SnapshotMemory]:
    """The memory of snapshots on each worker, exact: buffers hold the regions of GENERATIONS snapshots."""
    found = []
    for rank, duty in enumerate(duties):
        sizes = {c: sum(name.nbytes for name in region_names(partition, rank, c)) for c in duty.copied}
        taken = sum(name.nbytes for names in duty.taken.values() for name in names)
        sent = sum(nbytes for c, nbytes in sizes.items() if c.sent)
        memory = GENERATIONS * sum(name.nbytes for name in kept_regions(partition, duties, rank))
        found.append(SnapshotMemory(rank, sum(sizes.values()), taken, sent, memory))
    return found
