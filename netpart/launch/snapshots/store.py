"""SnapshotStore: the regions that a worker process keeps for snapshots, its own and those of others.

It belongs to the process, not to a team: after a loss the next team reads what the last one stored. Memory is taken
before step 0, for two generations: the one that is committed, and the one that is being stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.errors import MemoryRefused, NetpartError
from netpart.launch.snapshots.region_memory import KeptRegion, Memory, lay_out_regions, map_memory
from netpart.launch.snapshots.regions import Generation, RegionName
from netpart.spec import contains, extent
from netpart.units import bytes_text
from netpart.worker.memory_limit import RESERVE, available_memory

GENERATIONS = 2
"""How many snapshots are kept: the committed one, and the one that is being stored."""


class StaleSnapshot(NetpartError):
    """A snapshot that is older than one that is kept, or of which nothing was announced."""


class SnapshotStore:
    """Regions by snapshot and name. All methods may be called by any thread.

    ``committed`` is the newest snapshot of which all workers have stored their regions.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.committed: Generation | None = None
        self._names: tuple[RegionName, ...] = ()
        self._nbytes = 0
        self._kept: dict[Generation, dict[RegionName, KeptRegion]] = {}
        self._used: dict[Generation, Memory] = {}
        self._spare: list[Memory] = []

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the store has taken."""
        with self.lock:
            return sum(map(len, (*self._spare, *self._used.values())))

    def prepare(self, names: Iterable[RegionName]) -> None:
        """Take the memory for snapshots of ``names``. What an earlier team stored stays until a commit.

        Raises MemoryRefused if the process may not have as much.
        """
        with self.lock:
            self._names = tuple(names)
            self._nbytes = sum(name.nbytes for name in self._names)
            self._spare = [memory for memory in self._spare if len(memory) == self._nbytes][: self._missing(())]
            missing = self._missing(self._spare)
            _refuse_unless_fits(missing * self._nbytes)
            self._spare.extend(map_memory(self._nbytes) for _ in range(missing))

    def begin(self, generation: Generation) -> None:
        """Make room for ``generation``; one that was begun before and is not committed is dropped.

        Raises StaleSnapshot if a later one was begun or committed. To begin one twice changes nothing.
        """
        with self.lock:
            newest = max(self._kept, default=generation)
            if generation < newest or generation == self.committed:
                raise StaleSnapshot(f"expected a snapshot after {newest}, got {generation}")
            for older in [g for g in self._kept if g not in (generation, self.committed)]:
                self._release(older)
            if generation not in self._kept:
                self._used[generation] = memory = self._spare.pop() if self._spare else map_memory(self._nbytes)
                self._kept[generation] = lay_out_regions(memory, self._names)

    def write(self, generation: Generation, name: RegionName, array: NDArray[Any]) -> None:
        """Copy ``array`` into region ``name``, row by row."""
        with self.lock:
            region = self._kept[generation][name]
            np.copyto(_as_array(region.memory, name), array, casting="no")
            region.filled = len(region.memory)

    def fill(self, generation: Generation, name: RegionName, start: int, data: memoryview) -> None:
        """Put the next bytes of region ``name`` at ``start``. Raises StaleSnapshot unless they are the next ones."""
        with self.lock:
            region = self._kept.get(generation, {}).get(name)
            if region is None or start != region.filled or start + len(data) > len(region.memory):
                raise StaleSnapshot(f"expected the next bytes of {name.kind} {name.name!r:.80} of a snapshot under way")
            region.memory[start : start + len(data)] = np.frombuffer(data, np.uint8)
            region.filled += len(data)

    def expect(self, generation: Generation, ranges: Iterable[tuple[RegionName, int, int]]) -> None:
        """Raise StaleSnapshot unless ``ranges`` (name, start, bytes) are the next ones of a snapshot that may come."""
        with self.lock:
            if generation == self.committed or generation < max(self._kept, default=generation):
                raise StaleSnapshot(f"expected a snapshot after {max(self._kept)}, got {generation}")
            kept = self._kept.get(generation, {})
            ends: dict[RegionName, int] = {}
            for name, start, count in ranges:
                at = ends.get(name, kept[name].filled if name in kept else 0)
                if start != at or at + count > name.nbytes:
                    raise StaleSnapshot(f"expected byte {at} of {name.name!r:.80} next, got {start} to {start + count}")
                ends[name] = at + count

    def filled_bytes(self, generation: Generation, names: Iterable[RegionName]) -> int:
        """Bytes of ``names`` that have come."""
        with self.lock:
            kept = self._kept.get(generation, {})
            return sum(kept[name].filled for name in names if name in kept)

    def find(self, generation: Generation, wanted: RegionName) -> tuple[RegionName, NDArray[Any]] | None:
        """A whole region that contains ``wanted``, and its elements; None if no region does."""
        with self.lock:
            for name, region in self._kept.get(generation, {}).items():
                same = (name.kind, name.name, name.dtype) == (wanted.kind, wanted.name, wanted.dtype)
                if same and region.whole and len(name.box) == len(wanted.box) and contains(name.box, wanted.box):
                    return name, _as_array(region.memory, name)
        return None

    def bytes_of(self, generation: Generation, name: RegionName) -> memoryview:
        """The bytes of region ``name``. Raises StaleSnapshot if it is not kept, or is not whole."""
        with self.lock:
            region = self._kept.get(generation, {}).get(name)
            if region is None or not region.whole:
                raise StaleSnapshot(f"expected {name.kind} {name.name!r:.80} of {generation}, got none")
            return region.memory.data

    def whole_regions(self, generation: Generation) -> Mapping[RegionName, NDArray[Any]]:
        """The regions of a snapshot of which all bytes have come, as arrays that the store may reuse after a commit."""
        with self.lock:
            found = self._kept.get(generation, {})
            return {name: _as_array(region.memory, name) for name, region in found.items() if region.whole}

    def generations(self) -> dict[Generation, bool]:
        """The snapshots that are kept, oldest first; True for those whose regions are all whole."""
        with self.lock:
            return {g: all(r.whole for r in kept.values()) for g, kept in sorted(self._kept.items())}

    def commit(self, generation: Generation) -> None:
        """Drop the snapshots before ``generation``, if that is whole here. Otherwise nothing happens."""
        with self.lock:
            if not self.generations().get(generation, False):
                return
            self.committed = generation
            for older in [g for g in self._kept if g < generation]:
                self._release(older)

    def drop(self, generation: Generation) -> None:
        """Drop a snapshot that is not committed."""
        with self.lock:
            if generation in self._kept and generation != self.committed:
                self._release(generation)

    def adopt(self, generation: Generation | None) -> None:
        """Keep ``generation`` alone, to which the run goes back, until a later one is committed; None: drop all."""
        with self.lock:
            for other in [g for g in self._kept if g != generation]:
                self._release(other)
            self.committed = generation if generation in self._kept else None

    def _missing(self, spare: Sequence[Memory]) -> int:
        """How much memory besides ``spare`` and what is used is to be had, in snapshots."""
        used = sum(len(memory) == self._nbytes for memory in self._used.values())
        return max(0, GENERATIONS - used - len(spare))

    def _release(self, generation: Generation) -> None:
        """Drop a snapshot. Its memory serves for another one, or goes back to the system."""
        del self._kept[generation]
        memory = self._used.pop(generation)
        if len(memory) == self._nbytes and self._missing(self._spare):
            self._spare.append(memory)


def _as_array(memory: Memory, name: RegionName) -> NDArray[Any]:
    """The memory of region ``name`` as an array of its shape."""
    return memory.view(name.dtype).reshape(extent(name.box))


def _refuse_unless_fits(coming: int) -> None:
    """Raise MemoryRefused if the process may not have ``coming`` bytes more."""
    free = available_memory()
    if coming and free is not None and coming + RESERVE > free:
        need, left = bytes_text(coming), bytes_text(free)
        raise MemoryRefused(
            f"snapshots: expected room for {need}, got {left}; run without --elastic, or on more workers"
        )
