"""Holdings and buckets: the boxes of parameters that workers and servers keep, and the gradients that they sum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from netpart.collectives import cut_into_blocks
from netpart.graph.net import Parameter
from netpart.spec import Region, size


@dataclass(frozen=True)
class Holding:
    """The box of a parameter that a worker stores. It updates and saves all of it, or only ``part`` if updates are
    sharded."""

    parameter: Parameter
    box: Region
    part: Region | None = None

    @property
    def home(self) -> Region:
        """The box that the worker updates and saves."""
        return self.box if self.part is None else self.part


@dataclass(frozen=True)
class ParameterCell:
    """A box of a parameter whose gradient is summed over a bucket's workers."""

    parameter: Parameter
    box: Region


@dataclass(frozen=True, eq=False)
class Bucket:
    """Cells that are all-reduced over ``workers`` together, in one flat buffer; or one cell whose update is
    ``sharded``. They are told apart by identity, as a hash of all cells takes long.

    Of a sharded cell, the sum of each of its ``homes`` goes to one worker, and the new values come from that worker.
    """

    workers: tuple[int, ...]
    cells: tuple[ParameterCell, ...]
    sharded: bool = False

    @cached_property
    def elements(self) -> int:
        return sum(size(c.box) for c in self.cells)

    @cached_property
    def homes(self) -> tuple[Region, ...]:
        """The box of the one cell of a sharded bucket that each worker updates."""
        return home_regions(self.cells[0].box, len(self.workers))


def home_regions(box: Region, workers: int) -> tuple[Region, ...]:
    """The homes of ``workers`` workers in a box that all of them hold, in order; () if some home would be empty."""
    found = cut_into_blocks(box, workers) if box else ()
    return found if all(map(size, found)) else ()


@dataclass(frozen=True)
class ServerPiece:
    """A box of a parameter that ``server`` keeps. ``pusher`` sends its gradient; each of ``pullers`` receives its
    values.

    Workers and servers are identified by their number within a group.
    """

    parameter: Parameter
    box: Region
    number: int
    server: int
    pusher: int
    pullers: tuple[int, ...]


ReadyCell = tuple[int, tuple[int, ...], ParameterCell]
"""(readiness, workers that sum the cell, cell). Readiness is lower for cells that backward completes earlier."""
