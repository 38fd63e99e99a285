"""CurvePoints: a bounded history of one metric."""

from __future__ import annotations

MOST_POINTS = 1000
"""Largest number of points that are kept of a curve."""

Point = tuple[int, float, float]
"""Step, seconds since the first step, value."""


class CurvePoints:
    """The points of a curve. When they are too many every second one is dropped, and of new ones as many, so those
    that are left are evenly spaced over the whole run. The latest one is always kept."""

    def __init__(self) -> None:
        self.kept: list[Point] = []
        self.stride = 1
        self.count = 0
        self.latest: Point | None = None

    def add(self, point: Point) -> None:
        """Take the next point."""
        if self.count % self.stride == 0:
            self.kept.append(point)
        self.count += 1
        self.latest = point
        if len(self.kept) >= MOST_POINTS:
            self.kept = self.kept[::2]
            self.stride *= 2

    @property
    def points(self) -> list[Point]:
        """All points that are left, with the latest."""
        return [*self.kept, self.latest] if self.latest and self.latest not in self.kept[-1:] else self.kept
