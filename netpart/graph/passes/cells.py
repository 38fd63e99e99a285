"""Boxes of one parameter: what a worker stores of it, and the cells into which all needs cut it."""

from __future__ import annotations

from collections.abc import Iterable

from netpart.spec import Region, hull, intersect, subtract


def disjoint_hulls(boxes: Iterable[Region]) -> list[Region]:
    """Merges boxes that overlap into their hull until none do: what a worker stores, each element once."""
    merged: list[Region] = []
    for box in dict.fromkeys(boxes):
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
