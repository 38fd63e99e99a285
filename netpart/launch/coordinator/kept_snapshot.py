"""KeptSnapshot: a snapshot that a team has committed, and who holds its regions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from netpart.launch.snapshots.reader import encode_region_map
from netpart.launch.snapshots.regions import Generation, RegionName
from netpart.proto.control_pb2 import RegionMapProto


class HeldRegions(NamedTuple):
    """The regions of a snapshot that the worker with the region service ``address`` holds."""

    address: str
    names: tuple[RegionName, ...]


@dataclass(frozen=True)
class KeptSnapshot:
    """The snapshot ``generation``, with regions ``names``; ``held`` has what each seat holds.

    ``sums`` are the mini-batches since the last report of training, and the sums of their metrics.
    """

    generation: Generation
    names: frozenset[RegionName]
    held: Mapping[int, HeldRegions]
    sums: tuple[int, list[float]]

    @property
    def step(self) -> int:
        """The steps that were done."""
        return self.generation.step

    @property
    def is_whole(self) -> bool:
        """True if every region is still held by somebody."""
        return self.names <= {name for held in self.held.values() for name in held.names}

    def without(self, seat: int) -> KeptSnapshot:
        """This snapshot after the loss of the worker on ``seat``."""
        return replace(self, held={other: held for other, held in self.held.items() if other != seat})

    def region_map(self) -> RegionMapProto:
        """Who holds which regions, for a worker that restores the snapshot."""
        return encode_region_map(self.generation, self.held.values())


def keep_snapshot(
    generation: Generation, held: Mapping[int, HeldRegions], sums: tuple[int, list[float]]
) -> KeptSnapshot:
    """The snapshot that all workers have stored."""
    return KeptSnapshot(generation, frozenset(name for each in held.values() for name in each.names), held, sums)
