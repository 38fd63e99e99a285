"""Texts of DOT files: quoted strings, names in lines, the sizes of boxes, the heading of a drawing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import sqrt

from netpart.draw.font_metrics import MEASURED, text_width
from netpart.draw.picture import Picture

WIDEST = 18
"""Maximum number of characters of a name in one line."""

FONT = f'fontname="{MEASURED}"'
HEADING, NAME, SMALL, LEADING = 13, 10, 8, 12
"""Font sizes of titles, of a box's name and shape, and of the lines between; the height of a line. All in points."""
ASIDE, ABOVE, BESIDE = 9, 5, 24
"""Points to the left and right of the text in a box, above and below it, and next to the title of a field."""
INCH = 72
"""Points per inch: Graphviz takes sizes of boxes in inches."""
ROUND = 1.35
"""Height of an ellipse relative to the text in it."""
CLASSES = ("part", *(f"part{n}" for n in range(2, 11)))
"""Class names of boxes with one small line above the last, with two, and so on."""
BRIDGE = "penwidth=2.2"
NO_GRADIENT = "style=dashed"
SPACE = "\u00a0"


def dot_opening(shown: Picture, rankdir: str, *notes: str) -> Iterator[str]:
    """The first lines of the file, with the heading and ``notes`` below it; ``rankdir`` is TB or LR."""
    yield f"digraph {quote_dot(shown.name)} {{"
    yield f"  graph [{FONT} fontsize={HEADING} rankdir={rankdir} ranksep=0.32 nodesep=0.22 newrank=true labelloc=t"
    yield f"         label={quote_dot(dot_heading(shown, *notes))}]"
    yield f'  node [{FONT} fontsize={NAME} shape=box style="filled,rounded" fixedsize=true]'
    yield f'  edge [{FONT} fontsize=9 arrowsize=0.7 color="#555555"]'


def dot_heading(shown: Picture, *notes: str) -> str:
    """The title of the drawing; further lines are the traffic between workers."""
    return "\n".join([shown.title, *filter(None, shown.traffic.split("; ")), *notes, " "])


def field_margin(title: str, widest: float) -> int:
    """Points around the boxes of a field: its title fits next to an arrow into the middle of the ``widest`` text."""
    return max(12, round(text_width(title, HEADING) + BESIDE - widest / 2 - ASIDE))


def box_size(names: list[str], small: list[str], last: str, round: bool) -> str:
    """Width and height, as DOT attributes, of a rectangle or ellipse (``round``) that holds these lines."""
    widths = line_widths(names, small, last)
    high: float = LEADING * len(widths) + 2 * ABOVE
    if not round:
        return size_attributes(max(widths) + 2 * ASIDE, high)
    high *= ROUND
    # The ellipse must hold every line: at the height y of a line's farther edge, its half width is
    # wide / 2 * sqrt(1 - (2 y / high)^2).
    tops = [LEADING * max(abs(i - len(widths) / 2), abs(i + 1 - len(widths) / 2)) for i in range(len(widths))]
    wide = max(text / sqrt(1 - (2 * top / high) ** 2) for text, top in zip(widths, tops, strict=True))
    return size_attributes(wide + ASIDE, high)


def line_widths(names: list[str], small: list[str], last: str) -> list[float]:
    """Widths in points of the lines of a box: its name, the small lines, the last one."""
    widths = [*(text_width(name, NAME, bold=True) for name in names), *(text_width(each, SMALL) for each in small)]
    return [*widths, text_width(last, NAME)]


def size_attributes(wide: float, high: float) -> str:
    """A size in points as DOT attributes."""
    return f"width={wide / INCH:.3f} height={high / INCH:.3f}"


def wrap_name(name: str, widest: int = WIDEST) -> list[str]:
    """``name`` in lines of up to ``widest`` characters, broken after hyphens but never before a part's number."""
    rows = [""]
    for piece in re.findall(r".+?(?:-(?!\d)|$)", name):
        if rows[-1] and len(rows[-1] + piece) > widest:
            rows.append("")
        rows[-1] += piece
    return rows


def quote_dot(text: str) -> str:
    """``text`` as a DOT string; line ends become centred lines."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n") + '"'
