"""CurvePoints: a bounded history of one metric."""

from __future__ import annotations

MOST_POINTS = 1000
"""Largest number of points that are kept of a curve."""

MOST_REPEATED = 100
"""Largest number of points that are kept of what an attempt measured and the next one measures again."""

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

    def cut(self, step: int) -> list[Point]:
        """Drop the points after ``step``; return them, or some of them, with the last one before them."""
        points = self.points
        left = sum(point[0] <= step for point in points)
        dropped = points[max(0, left - 1) :] if left < len(points) else []
        self.kept = points[:left]
        self.latest = self.kept[-1] if self.kept else None
        self.count = 0
        every = -(-len(dropped) // MOST_REPEATED) or 1
        return [*dropped[:-1:every], *dropped[-1:]]

    @property
    def points(self) -> list[Point]:
        """All points that are left, with the latest."""
        return [*self.kept, self.latest] if self.latest and self.latest not in self.kept[-1:] else self.kept
