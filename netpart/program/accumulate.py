"""Accumulator: which contributions to a gradient may overwrite it, which must add, and what is zeroed first."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from netpart.spec import Region, intersect, size


class Accumulator:
    """A plan of the contributions to one gradient that covers ``region``.

    ``contributions`` are (key, region) in the order in which backward makes them. If they tile the region, or the first
    one covers it, nothing is zeroed, and the first write to each element overwrites it.
    """

    def __init__(self, region: Region, contributions: Sequence[tuple[Hashable, Region]]) -> None:
        self.region = region
        self.contributions = dict(contributions)
        self.tiled = self.tiles([box for _, box in contributions])
        first = contributions[0] if contributions else None
        self.first = first[0] if first else None
        self.zero_first = not self.tiled and (first is None or first[1] != region)

    def tiles(self, boxes: list[Region]) -> bool:
        """True if the boxes are disjoint and cover the region."""
        # The sizes are compared first, which is cheap. They do not suffice: an overlap can make up for a gap.
        if sum(size(b) for b in boxes) != size(self.region):
            return False
        return not any(intersect(a, b) is not None for i, a in enumerate(boxes) for b in boxes[:i])

    def overwrites(self, key: Hashable) -> bool:
        """True if contribution ``key`` may overwrite its box instead of adding to it."""
        return self.tiled or (key == self.first and not self.zero_first)

    def must_zero(self, key: Hashable) -> bool:
        """True if the whole region has to be zeroed before contribution ``key``."""
        return key == self.first and self.zero_first
