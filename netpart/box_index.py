"""BoxIndex: finds the boxes of a list that meet a region without looking at each of them.

Boxes are sorted along one axis, and a binary search selects those whose range on it can meet the region's. So n
disjoint boxes are compared in n log n steps, where all pairs would be n².
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netpart.spec import Region


class BoxIndex:
    """An index of ``boxes``, which have the same rank and may overlap. It returns indices into ``boxes``, ascending."""

    def __init__(self, boxes: Sequence[Region]) -> None:
        self.boxes = boxes
        self.axis = _most_divided_axis(boxes)
        self.order = range(len(boxes)) if self.axis is None else _order_along(boxes, self.axis)
        spans = [] if self.axis is None else [boxes[i][self.axis] for i in self.order]
        self.starts = [lo for lo, _ in spans]
        # The furthest end so far never decreases, also where a long box comes before short ones.
        self.reach = list(accumulate((hi for _, hi in spans), max))

    def find_touching(self, region: Region) -> list[int]:
        """The boxes that share an element with ``region``."""
        return sorted(i for i in self._candidates(region) if _boxes_meet(self.boxes[i], region))

    def find_containing(self, region: Region) -> list[int]:
        """The boxes that contain all of ``region``, which is not empty."""
        return sorted(i for i in self._candidates(region) if _box_covers(self.boxes[i], region))

    def _candidates(self, region: Region) -> Sequence[int]:
        """The boxes whose ranges on the axis of the index meet that of ``region``."""
        if self.axis is None:
            return self.order
        lo, hi = region[self.axis]
        return self.order[bisect_right(self.reach, lo) : bisect_left(self.starts, hi)]


def _boxes_meet(a: Region, b: Region) -> bool:
    """True if ``a`` and ``b`` share an element."""
    # Written out here, as in ``spec.intersect``: Placement is in that module, and uses this one.
    return all(alo < bhi and blo < ahi and alo < ahi and blo < bhi for (alo, ahi), (blo, bhi) in zip(a, b, strict=True))


def _box_covers(outer: Region, inner: Region) -> bool:
    """True if every element of ``inner`` lies in ``outer``."""
    return all(olo <= ilo and ihi <= ohi for (olo, ohi), (ilo, ihi) in zip(outer, inner, strict=True))


def _most_divided_axis(boxes: Sequence[Region]) -> int | None:
    """The axis on which the boxes have the most different ranges; None for boxes without an axis, or without boxes."""
    counts = [len(set(spans)) for spans in zip(*boxes, strict=True)]
    return counts.index(max(counts)) if counts else None


def _order_along(boxes: Sequence[Region], axis: int) -> list[int]:
    """The indices of ``boxes`` by their start on ``axis``."""
    return sorted(range(len(boxes)), key=lambda i: boxes[i][axis][0])


def are_boxes_disjoint(boxes: Sequence[Region]) -> bool:
    """True if no two boxes share an element."""
    index = BoxIndex(boxes)
    # Each box that is not empty meets itself.
    return not any(i != j for i, box in enumerate(boxes) for j in index.find_touching(box))


def group_overlapping(boxes: Sequence[Region]) -> Iterator[list[Region]]:
    """``boxes`` in groups, so that boxes of different groups share no element. The order within a group is kept."""
    index = BoxIndex(boxes)
    left = [True] * len(boxes)
    for i in range(len(boxes)):
        if left[i]:
            yield [boxes[j] for j in sorted(_connected_boxes(index, i, left))]


def _connected_boxes(index: BoxIndex, first: int, left: list[bool]) -> Iterator[int]:
    """The boxes that are connected with ``first`` by overlaps; they are no longer ``left``."""
    waiting = [first]
    left[first] = False
    while waiting:
        yield (i := waiting.pop())
        found = [j for j in index.find_touching(index.boxes[i]) if left[j]]
        waiting += found
        for j in found:
            left[j] = False
