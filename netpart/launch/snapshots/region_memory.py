"""Memory of the regions of a snapshot: pages of their own, one mapping for all of them.

Arrays from the heap would take more than is forecast: a heap keeps holes between arrays, and what is freed stays with
the process. A mapping takes its bytes, rounded up to pages, and returns them when it is dropped.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpart.launch.snapshots.regions import RegionName

Memory = NDArray[np.uint8]


@dataclass
class KeptRegion:
    """The memory of a region, and how many of its bytes have come."""

    memory: Memory
    filled: int = 0

    @property
    def whole(self) -> bool:
        """True if all bytes have come."""
        return self.filled == len(self.memory)


def map_memory(nbytes: int) -> Memory:
    """``nbytes`` of private memory, whose pages are there at once, and not only in the middle of a step."""
    pages = mmap.mmap(-1, max(1, nbytes), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory = np.frombuffer(pages, np.uint8)[:nbytes]
    memory.fill(0xFF)
    return memory


def lay_out_regions(memory: Memory, names: Iterable[RegionName]) -> dict[RegionName, KeptRegion]:
    """The regions ``names`` one after another in ``memory``. All are of one element type, so each one is aligned."""
    found, start = {}, 0
    for name in names:
        found[name] = KeptRegion(memory[start : start + name.nbytes])
        start += name.nbytes
    return found
