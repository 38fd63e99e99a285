"""How a net shows itself in a notebook. Drawing is a floor above: whoever can draw leaves word here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Draw = Callable[[Any], str | None]
"""Makes the SVG of a Net, Graph or Partition; None where it cannot."""

_drawers: list[Draw] = []


def set_notebook_drawing(draw: Draw) -> None:
    """Lets nets show themselves as ``draw`` draws them; the latest counts."""
    _drawers[:] = [draw]


class NotebookDisplay:
    """What a notebook draws instead of printing."""

    def _repr_svg_(self) -> str | None:
        """The SVG that a notebook shows; with None it prints the object's name instead."""
        return _drawers[0](self) if _drawers else None
