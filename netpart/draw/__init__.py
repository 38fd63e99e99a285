"""Drawings of nets: ``render`` writes a partitioned or uncut net as DOT, SVG, JSON or text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from netpart.choices import DRAWING_FORMATS
from netpart.errors import NetpartError

if TYPE_CHECKING:
    from netpart.draw.look import DrawingLook
    from netpart.graph.graph import Graph
    from netpart.graph.net import Net


def render(drawn: Graph | Net, format: str, itemsize: int = 4, look: DrawingLook | None = None) -> str:
    """Write a net in one of DRAWING_FORMATS. ``itemsize`` is the bytes of an activation, 4 or 8.

    ``look`` is what to fold, and the direction (default: nothing, downwards); JSON has always everything. Raises
    NetpartError for an unknown format, and for svg if Graphviz is not installed.
    """
    from netpart.draw.look import PLAIN

    return _format_writer(format)(drawn, itemsize, look or PLAIN)


def _format_writer(format: str) -> Callable[[Graph | Net, int, DrawingLook], str]:
    from netpart.draw import dot, graph_json, svg, text

    writers = {"dot": dot.to_dot, "svg": svg.to_svg, "txt": text.to_text}
    if format == "json":
        return lambda drawn, itemsize, _look: graph_json.to_json(drawn, itemsize)
    if format not in writers:
        known = ", ".join(DRAWING_FORMATS)
        raise NetpartError(f"drawing: expected a format out of {known}, got {format!r}; choose one of them")
    return writers[format]
