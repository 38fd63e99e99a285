"""What workers and servers hold of parameters, and what they sum of gradients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from netpart.collectives import cut_into_blocks
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
class ParameterCell:
    """A box of a parameter whose gradient is summed over a bucket's workers."""

    parameter: Parameter
    box: Region


@dataclass(frozen=True)
class Bucket:
    """Cells that are all-reduced together, in one flat buffer, over ``workers``; or one cell whose update is
    ``sharded``: the sum of each of its ``homes`` goes to one worker, and the new values come from there."""

    workers: tuple[int, ...]
    cells: tuple[ParameterCell, ...]
    sharded: bool = False

    @cached_property
    def elements(self) -> int:
        return sum(size(c.box) for c in self.cells)

    @property
    def homes(self) -> tuple[Region, ...]:
        """What each worker updates of the one cell of a sharded bucket."""
        return home_regions(self.cells[0].box, len(self.workers))


def home_regions(box: Region, workers: int) -> tuple[Region, ...]:
    """The homes of ``workers`` workers in a box that they hold, in their order; () if there is not one for each."""
    found = cut_into_blocks(box, workers) if box else ()
    return found if all(map(size, found)) else ()


@dataclass(frozen=True)
class ServerPiece:
    """A box of a parameter that ``server`` keeps: its ``pusher`` sends gradients, each of the ``pullers`` gets values.

    Workers and servers go by their number within a group.
    """

    parameter: Parameter
    box: Region
    number: int
    server: int
    pusher: int
    pullers: tuple[int, ...]


ReadyCell = tuple[int, tuple[int, ...], ParameterCell]
"""(when its last contribution is made, workers that sum it, cell)."""
