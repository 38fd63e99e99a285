"""Pass: who adds up which squares of the gradient's norm over all parameters, each element once.

After the sums all who update an element have equal bits of its gradient, so any of them may count it: each counts an
equal share. The homes of a parameter are cut into disjoint cells, and a cell into as many parts as it is a home of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netpart.collectives import cut_into_blocks
from netpart.graph.holdings import Holding, ParameterCell
from netpart.graph.net import Parameter
from netpart.graph.passes.cells import disjoint_cells
from netpart.graph.passes.synchronise import cell_holders
from netpart.spec import Region, size


@dataclass(frozen=True)
class GradientNorm:
    """``workers`` hold trained parameters, and need the norm; ``counted[worker]`` is what each counts of it."""

    workers: tuple[int, ...]
    counted: tuple[tuple[ParameterCell, ...], ...]


def plan_gradient_norm(holdings: Sequence[Sequence[Holding]], trained: set[str]) -> GradientNorm:
    """Shares the elements of all ``trained`` parameters among who updates them; running statistics have no gradient."""
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
    """(worker, box) of one parameter, of which every worker holds the boxes ``held``."""
    for cell in disjoint_cells({box for boxes in held.values() for box in boxes}):
        workers = cell_holders(held, cell)
        for worker, box in zip(workers, cut_into_blocks(cell, len(workers)) if cell else [cell], strict=False):
            if size(box):
                yield worker, box
