"""Titles of fields, moved to places without arrows: Graphviz draws arrows across the space of cluster titles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import pairwise

from netpart.draw.font_metrics import text_width

Point = tuple[float, float]

FIELD = re.compile(r'(<g id="[^"]*" class="cluster">\n<title>cluster_worker_\d+</title>\n<path [^>]*? d="([^"]*)"/>\n)'
                   r'(<text [^>]*? x=")[-\d.]+(" y="([-\d.]+)" font-size="([\d.]+)">([^<]*)</text>\n)')  # fmt: skip
EDGE = re.compile(r'<g id="[^"]*" class="edge">.*?</g>\n', re.DOTALL)
PATH = re.compile(r'<path [^>]*? d="([^"]*)"')
LABEL = re.compile(r'<text text-anchor="(\w+)" x="([-\d.]+)" y="([-\d.]+)" font-size="([\d.]+)"[^>]*>([^<]*)</text>')
NUMBERS = re.compile(r"([-\d.]+),([-\d.]+)")
PIECES = 12
"""Number of straight pieces by which a curve is approximated."""
MARGIN, ROOM = 10, 4
"""Pixels between a title and the sides of its field, and between a title and an arrow."""


def place_titles(svg: str) -> str:
    """``svg``, as Graphviz writes it, with each title at the leftmost place of its line where nothing crosses it."""
    crossing = [box for edge in EDGE.findall(svg) for box in arrow_boxes(edge)]
    return FIELD.sub(lambda field: _move_title(field, crossing), svg)


Box = tuple[float, float, float, float]
"""Left, right, top, bottom."""


def arrow_boxes(edge: str) -> Iterator[Box]:
    """The bounding boxes of the pieces of an arrow and of its label."""
    for path in PATH.findall(edge):
        for (x, y), (to_x, to_y) in pairwise(path_points(path)):
            yield min(x, to_x), max(x, to_x), min(y, to_y), max(y, to_y)
    for anchor, x, y, size, text in LABEL.findall(edge):
        wide = text_width(unescape(text), float(size))
        left = float(x) - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        yield left, left + wide, float(y) - float(size), float(y)


def path_points(path: str) -> Iterator[Point]:
    """Points on a path of cubic Bézier curves."""
    found = [(float(x), float(y)) for x, y in NUMBERS.findall(path)]
    yield from found[:1]
    for i in range(0, len(found) - 3, 3):  # the end of a curve is the start of the next: three new points each
        yield from (_curve_point(found[i : i + 4], (k + 1) / PIECES) for k in range(PIECES))


def _curve_point(curve: list[Point], t: float) -> Point:
    """The point of a cubic Bézier curve at ``t``, from 0 to 1."""
    weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
    x, y = (sum(w * point[axis] for w, point in zip(weights, curve, strict=True)) for axis in (0, 1))
    return x, y


def _move_title(field: re.Match[str], crossing: list[Box]) -> str:
    """One field with its title at the leftmost free place, or at the left if there is no free place."""
    before, path, start, end, y, size, text = field.groups()
    line = float(y)
    xs = [x for x, _ in path_points(path)]
    half = text_width(unescape(text), float(size)) / 2 + ROOM
    in_line = [
        (left, right) for left, right, top, bottom in crossing if top < line + ROOM and bottom > line - float(size)
    ]
    # The leftmost free place begins at the left margin or directly to the right of something that crosses the line.
    tries = [min(xs) + MARGIN + half, *sorted(right + half for _, right in in_line)]
    free = (x for x in tries if all(right <= x - half or left >= x + half for left, right in in_line))
    found = next((x for x in free if tries[0] <= x <= max(xs) - MARGIN - half), tries[0])
    return before + start.replace("<text ", '<text class="title" ') + f"{found:.2f}{end}"
