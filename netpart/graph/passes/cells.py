"""Boxes of one parameter: those that a worker stores, and the disjoint cells into which the needs of all workers cut
it."""

from __future__ import annotations

from collections.abc import Iterable

from netpart.spec import Region, hull, intersect, subtract


def disjoint_hulls(boxes: Iterable[Region]) -> list[Region]:
    """Merge overlapping boxes into their hull until all are disjoint, so that a worker stores each element once."""
    merged: list[Region] = []
    for box in dict.fromkeys(boxes):
        # A hull can overlap boxes that its parts did not, so the search starts again after each merge.
        while (other := next((m for m in merged if intersect(m, box) is not None), None)) is not None:
            merged.remove(other)
            box = hull([other, box])
        merged.append(box)
    return sorted(merged)


def disjoint_cells(boxes: Iterable[Region]) -> list[Region]:
    """The coarsest common refinement of ``boxes``: every box is a union of cells."""
    cells: list[Region] = []
    for box in sorted(boxes):
        fresh = [box]
        refined: list[Region] = []
        for cell in cells:
            common = intersect(cell, box)
            refined += [cell] if common is None else [common, *subtract(cell, common)]
            fresh = [piece for f in fresh for piece in subtract(f, cell)]
        cells = refined + fresh
    return sorted(cells)
