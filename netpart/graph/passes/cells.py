"""Boxes of one parameter: those that a worker stores, and the disjoint cells into which the needs of all workers cut
it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from netpart.box_index import BoxIndex, group_overlapping
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
    # Boxes that share nothing refine nothing of each other, so the groups are refined one by one.
    return sorted(cell for group in group_overlapping(sorted(boxes)) for cell in _refine_boxes(group))


def _refine_boxes(boxes: Sequence[Region]) -> list[Region]:
    """The cells of ``boxes``, which are sorted."""
    cells: list[Region] = []
    for box in boxes:
        fresh = [box]
        refined: list[Region] = []
        for cell in cells:
            common = intersect(cell, box)
            refined += [cell] if common is None else [common, *subtract(cell, common)]
            fresh = [piece for f in fresh for piece in subtract(f, cell)]
        cells = refined + fresh
    return cells


class BoxHolders:
    """The workers that hold a box, for the boxes ``held`` by each worker."""

    def __init__(self, held: Mapping[int, Sequence[Region]]) -> None:
        self.workers = [worker for worker, boxes in held.items() for _ in boxes]
        self.index = BoxIndex([box for boxes in held.values() for box in boxes])

    def find_holders(self, box: Region) -> tuple[int, ...]:
        """The workers that hold all of ``box`` in one piece, in the order of ``held``."""
        return tuple(dict.fromkeys(self.workers[i] for i in self.index.find_containing(box)))
