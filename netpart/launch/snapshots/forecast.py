"""Forecast of the memory that snapshots take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netpart.graph.partition import Partition
from netpart.launch.snapshots.duties import SnapshotDuty, kept_regions, region_names
from netpart.launch.snapshots.region_link import CHUNK_BYTES
from netpart.launch.snapshots.store import GENERATIONS


@dataclass(frozen=True)
class SnapshotMemory:
    """Bytes on ``worker``: of one snapshot what it ``copied`` from its own memory, ``taken`` from others and ``sent``
    to its buddy; ``kept``, the regions of all snapshots that it keeps; and ``memory``, with messages on their way."""

    worker: int
    copied: int
    taken: int
    sent: int
    kept: int
    memory: int


def forecast_snapshots(partition: Partition, duties: Sequence[SnapshotDuty]) -> list[SnapshotMemory]:
    """The memory of snapshots on each worker: regions of GENERATIONS snapshots, exactly, and the message that it sends
    and the one that arrives, over links that are not sealed."""
    found = []
    for rank, duty in enumerate(duties):
        sizes = {c: sum(name.nbytes for name in region_names(partition, rank, c)) for c in duty.copied}
        taken = sum(name.nbytes for names in duty.taken.values() for name in names)
        sent = sum(nbytes for c, nbytes in sizes.items() if c.sent)
        kept = GENERATIONS * sum(name.nbytes for name in kept_regions(partition, duties, rank))
        memory = kept + min(sent, CHUNK_BYTES) + min(taken, CHUNK_BYTES)
        found.append(SnapshotMemory(rank, sum(sizes.values()), taken, sent, kept, memory))
    return found
