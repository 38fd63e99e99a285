"""Layouts of the insides of boxes, by Graphviz; boxes that look alike share one.

Coordinates are points from the upper left corner, y downwards.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Any

from netpart.draw.dot_text import ABOVE, ASIDE, LEADING, NAME, SMALL
from netpart.draw.font_metrics import MEASURED, text_width, wrap_text
from netpart.draw.page.fold_insides import Inside, InsideArrow, arrow_traffic
from netpart.draw.page.fold_tree import LAYER, FoldBox, FoldTree
from netpart.draw.picture import Arrow
from netpart.draw.quotient import Traffic
from netpart.draw.svg import write_graphviz
from netpart.errors import NetpartError
from netpart.units import bytes_text

STRIPE_ROOM, PORT_HIGH, ROOM = 16, 16, 250
"""Points: stripes at both sides of a box in several workers' colours, height of a port, width of the small lines."""
LABEL = 9
"""Font size of the bytes at an arrow."""


@dataclass
class BoxLabel:
    """The lines of a box: its bold name, then small lines, then the shape; ``uncut`` and ``whole`` of the uncut net."""

    name: str
    small: tuple[str, ...]
    extent: str
    uncut: tuple[str, ...] = ()
    whole: str = ""


@dataclass
class FoldLayout:
    """Where things are in the inside of a box: ``boxes`` has middle x, y, width and height of each end.

    ``fields`` are rectangles of workers, ``frames`` those of collectives (by the number of a child that is in it).
    ``arrows`` have their two ends, the place of their text or None, and the points of a chain of Bézier curves.
    """

    width: float
    height: float
    boxes: list[tuple[float, float, float, float]]
    fields: list[tuple[int, list[float]]] = field(default_factory=list)
    frames: list[tuple[int, list[float]]] = field(default_factory=list)
    arrows: list[tuple[int, int, tuple[float, float] | None, list[float]]] = field(default_factory=list)


def label_box(tree: FoldTree, box: FoldBox, sums: dict[str, int], whole: dict[str, str]) -> BoxLabel:
    """The lines of ``box``. ``whole`` has the shape of each uncut layer."""
    if box.part is not None:
        part = box.part
        return BoxLabel(part.type if part.is_helper else part.name, (), part.extent)
    group = box.group
    kind = ": ".join(filter(None, (group.kind, group.types)))
    last = whole.get(group.boxes[-1].layer, "") if group.boxes else ""
    nbytes = sum(sums.get(name, 0) for name in box.layers)
    traffic = Traffic(tuple(_moved_inside(tree, box)), {f.number: f.name for f in tree.shown.frames})
    inside = [f"inside: {' '.join(traffic.lines)}"] if traffic.arrows else []
    about = [kind, *inside, *([f"Σ gradients ↑ {bytes_text(nbytes)}"] if nbytes else [])]
    small = tuple(line for text in about for line in wrap_text(text, SMALL, ROOM))
    return BoxLabel(box.name, small, group.extent, tuple(wrap_text(kind, SMALL, ROOM)), last)


def _moved_inside(tree: FoldTree, box: FoldBox) -> Iterator[Arrow]:
    """The arrows between workers from a layer in ``box`` to another one in it."""
    if box.kind == LAYER:
        return
    names = set(box.layers)
    groups = tree.flow.groups
    for arrow in tree.flow.arrows:
        if groups[arrow.source].name in names and groups[arrow.target].name in names:
            yield from arrow.traffic.arrows


def _label_size(label: BoxLabel, helper: bool, striped: bool) -> tuple[float, float]:
    """The width and height that a box needs, in points."""
    bold = SMALL if helper else NAME
    wide = [text_width(label.name, bold, bold=not helper)]
    wide += [text_width(line, SMALL) for line in (*label.small, *label.uncut)]
    wide += [text_width(text, SMALL if helper else NAME) for text in (label.extent, label.whole)]
    lines = 2 + len(label.small)
    return max(wide) + 2 * ASIDE + 2 * STRIPE_ROOM * striped, LEADING * lines + 2 * ABOVE


def lay_out_insides(
    tree: FoldTree, insides: dict[FoldBox, Inside], signatures: dict[FoldBox, Hashable],
    labels: dict[FoldBox, BoxLabel], seconds: float = inf,
) -> tuple[dict[FoldBox, int], list[FoldLayout]]:  # fmt: skip
    """The number of the layout of each inside, and the layouts. Raises NetpartError after ``seconds``."""
    until = monotonic() + seconds
    alike: dict[Hashable, list[Inside]] = {}
    for box, inside in insides.items():
        alike.setdefault(signatures[box], []).append(inside)
    numbers = {}
    layouts = []
    for number, group in enumerate(alike.values()):
        left = until - monotonic()
        if left <= 0:
            got = f"{number} of {len(alike)} layouts"
            raise NetpartError(f"the graph: expected its layout within {seconds:.0f} s, got {got}; use netpart draw")
        layouts.append(_lay_out(tree, group, labels, left))
        numbers.update({inside.box: number for inside in group})
    return numbers, layouts


def _lay_out(tree: FoldTree, alike: Sequence[Inside], labels: dict[FoldBox, BoxLabel], seconds: float) -> FoldLayout:
    """The layout of insides that look alike: each end has the size for the widest of its texts."""
    first = alike[0]
    sizes = [_widest(tuple(inside.box.children[n] for inside in alike), labels) for n in range(len(first.numbers))]
    ports = zip(*(inside.ports for inside in alike), strict=True)
    sizes += [(max(text_width(text, SMALL) for text in texts) + 2 * ASIDE, PORT_HIGH) for texts in ports]
    dot = "\n".join(_inside_dot(tree, first, sizes))
    return _LayoutReader(json.loads(write_graphviz(dot, "json0", None if seconds == inf else seconds)), sizes).layout


def _widest(boxes: Sequence[FoldBox], labels: dict[FoldBox, BoxLabel]) -> tuple[float, float]:
    sizes = [_label_size(labels[box], _is_helper(box), _is_striped(box)) for box in boxes]
    return max(wide for wide, _ in sizes), max(high for _, high in sizes)


def _is_helper(box: FoldBox) -> bool:
    return box.part is not None and box.part.is_helper


def _is_striped(box: FoldBox) -> bool:
    return box.part is None and len(box.group.workers) > 1


def _inside_dot(tree: FoldTree, inside: Inside, sizes: Sequence[tuple[float, float]]) -> Iterator[str]:
    """The DOT of an inside: only sizes and texts at arrows matter."""
    yield "digraph {"
    yield f'  graph [ranksep=0.32 nodesep=0.22 newrank=true margin=0 fontname="{MEASURED}" fontsize={NAME}]'
    yield '  node [shape=box fixedsize=true label=""]'
    yield f'  edge [fontname="{MEASURED}" fontsize={LABEL} arrowsize=0.7]'
    nodes = [f"  {n} [width={wide / 72:.4f} height={high / 72:.4f}]" for n, (wide, high) in enumerate(sizes)]
    children = inside.box.children
    if inside.box.kind == LAYER:
        yield from _worker_clusters(children, nodes)
        yield f"  {{ rank=same; {'; '.join(str(n) for n, c in enumerate(children) if not _is_helper(c))} }}"
    yield from nodes if inside.box.kind != LAYER else nodes[len(children) :]
    for source, target, arrow in inside.numbered():
        yield f'  {source} -> {target} [label="{_arrow_label(tree, inside, arrow)}"]'
    yield "}"


def _arrow_label(tree: FoldTree, inside: Inside, arrow: InsideArrow) -> str:
    """The text at an arrow: bytes, but not those of a collective's parts, which its frame has."""
    if not arrow.moved or (inside.box.kind == LAYER and arrow.moved[0].frame >= 0):
        return ""
    return "".join(f"  {line} \\l" for line in arrow_traffic(tree, arrow).lines)


def _worker_clusters(children: Sequence[FoldBox], nodes: Sequence[str]) -> Iterator[str]:
    """A cluster for each worker, and in it one for its helpers of each collective, named by the first of them."""
    found: dict[int, dict[int, list[int]]] = {}
    for number, child in enumerate(children):
        assert child.part is not None
        found.setdefault(child.part.worker, {}).setdefault(child.part.frame, []).append(number)
    for worker, frames in sorted(found.items()):
        yield f'  subgraph cluster_worker_{worker} {{ label="worker {worker}" labeljust=l margin=10'
        for frame, numbers in frames.items():
            inner = "; ".join(nodes[number] for number in numbers)
            yield inner if frame < 0 else f'  subgraph cluster_frame_{numbers[0]} {{ label="" margin=6 {inner} }}'
        yield "  }"


Found = dict[str, Any]
"""An object in the JSON of Graphviz."""


class _LayoutReader:
    """Reads the JSON of Graphviz, whose y goes up."""

    def __init__(self, found: Found, sizes: Sequence[tuple[float, float]]) -> None:
        self.left, bottom, right, self.top = map(float, found["bb"].split(","))
        self.names = {each["_gvid"]: each["name"] for each in found.get("objects", ())}
        self.layout = FoldLayout(right - self.left, self.top - bottom, [(0.0, 0.0, *size) for size in sizes])
        for each in found.get("objects", ()):
            self._read_object(each)
        for each in found.get("edges", ()):
            self._read_arrow(each)

    def _read_object(self, each: Found) -> None:
        name = each["name"]
        if "pos" in each:
            number = int(name)
            self.layout.boxes[number] = (*self._point(each["pos"]), *self.layout.boxes[number][2:])
        elif name.startswith("cluster_"):
            x0, y0, x1, y1 = each["bb"].split(",")
            _, kind, number = name.split("_")
            rectangles = self.layout.fields if kind == "worker" else self.layout.frames
            rectangles.append((int(number), [*self._point(f"{x0},{y1}"), *self._point(f"{x1},{y0}")]))

    def _read_arrow(self, each: Found) -> None:
        ends = int(self.names[each["tail"]]), int(self.names[each["head"]])
        text = self._point(each["lp"]) if "lp" in each else None
        # "e,x,y" is the tip of the arrow. It comes first, and belongs to the end.
        tip, *points = each["pos"].split(" ")
        curve = [*points, tip.removeprefix("e,")] if tip.startswith("e,") else [tip, *points]
        self.layout.arrows.append((*ends, text, [value for point in curve for value in self._point(point)]))

    def _point(self, text: str) -> tuple[float, float]:
        x, y = text.split(",")
        return float(x) - self.left, self.top - float(y)
