"""What workers and servers hold of parameters, and what they sum of gradients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from netpart.collectives import blocks_of
from netpart.graph.net import Parameter
from netpart.spec import Region, size


@dataclass(frozen=True)
class Holding:
    """The box of a parameter that a worker stores. It updates and saves all of it, or ``part`` of it (``shard``)."""

    parameter: Parameter
    box: Region
    part: Region | None = None

    @property
    def home(self) -> Region:
        """What the worker updates and saves."""
        return self.box if self.part is None else self.part


@dataclass(frozen=True)
class Cell:
    """A box of a parameter whose gradient is summed over a bucket's workers."""

    parameter: Parameter
    box: Region


@dataclass(frozen=True)
class Bucket:
    """Cells that are all-reduced together, in one flat buffer, over ``workers``; or one cell whose update is
    ``sharded``: the sum of each of its ``homes`` goes to one worker, and the new values come from there."""

    workers: tuple[int, ...]
    cells: tuple[Cell, ...]
    sharded: bool = False

    @cached_property
    def elements(self) -> int:
        return sum(size(c.box) for c in self.cells)

    @property
    def homes(self) -> tuple[Region, ...]:
        """What each worker updates of the one cell of a sharded bucket."""
        return homes(self.cells[0].box, len(self.workers))


def homes(box: Region, workers: int) -> tuple[Region, ...]:
    """The homes of ``workers`` workers in a box that they hold, in their order; () if there is not one for each."""
    found = blocks_of(box, workers) if box else ()
    return found if all(map(size, found)) else ()


@dataclass(frozen=True)
class Piece:
    """A box of a parameter that ``server`` keeps: its ``pusher`` sends gradients, each of the ``pullers`` gets values.

    Workers and servers go by their number within a group.
    """

    parameter: Parameter
    box: Region
    number: int
    server: int
    pusher: int
    pullers: tuple[int, ...]


Ready = tuple[int, tuple[int, ...], Cell]
"""(when its last contribution is made, workers that sum it, cell)."""
