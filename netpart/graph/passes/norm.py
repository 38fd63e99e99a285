"""Pass: assigns to workers the squares that each adds to the gradient norm, so that each element counts once.

After gradients are summed, all workers that update an element have the same bits of its gradient, so any of them can
count it. The homes of a parameter are cut into disjoint cells; the workers that hold a cell count equal shares of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netpart.collectives import cut_into_blocks
from netpart.graph.holdings import Holding, ParameterCell
from netpart.graph.net import Parameter
from netpart.graph.passes.cells import BoxHolders, disjoint_cells
from netpart.spec import Region, size


@dataclass(frozen=True)
class GradientNorm:
    """``workers`` hold trained parameters and need the norm; ``counted[worker]`` are the cells that each counts."""

    workers: tuple[int, ...]
    counted: tuple[tuple[ParameterCell, ...], ...]


def plan_gradient_norm(holdings: Sequence[Sequence[Holding]], trained: set[str]) -> GradientNorm:
    """Divide the elements of all ``trained`` parameters among the workers that update them.

    Running statistics have no gradient and are omitted.
    """
    held: dict[Parameter, dict[int, list[Region]]] = {}
    for worker, of_worker in enumerate(holdings):
        for holding in (h for h in of_worker if h.parameter.name in trained and h.parameter.spec.running is None):
            held.setdefault(holding.parameter, {}).setdefault(worker, []).append(holding.home)
    counted: list[list[ParameterCell]] = [[] for _ in holdings]
    for parameter, boxes in held.items():
        for worker, box in assign_norm_cells(boxes):
            counted[worker].append(ParameterCell(parameter, box))
    members = {worker for boxes in held.values() for worker in boxes}
    return GradientNorm(tuple(sorted(members)), tuple(map(tuple, counted)))


def assign_norm_cells(held: dict[int, list[Region]]) -> Iterator[tuple[int, Region]]:
    """(worker, box) pairs for one parameter of which every worker holds the boxes ``held``."""
    holders = BoxHolders(held)
    for cell in disjoint_cells({box for boxes in held.values() for box in boxes}):
        workers = holders.find_holders(cell)
        # Not strict: a rank-0 parameter has no axis to cut, so the first worker counts all of it.
        for worker, box in zip(workers, cut_into_blocks(cell, len(workers)) if cell else [cell], strict=False):
            # A cell smaller than its number of holders leaves some of them without a share.
            if size(box):
                yield worker, box
