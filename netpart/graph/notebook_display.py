"""Notebook display of nets. Drawing code belongs to a higher floor, so it registers itself here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Draw = Callable[[Any], str | None]
"""Makes the SVG of a Net, Graph or Partition; returns None if it cannot."""

_drawers: list[Draw] = []


def set_notebook_drawing(draw: Draw) -> None:
    """Register ``draw`` as the function that draws nets in notebooks; the last registration is used."""
    _drawers[:] = [draw]


class NotebookDisplay:
    """Mixin for objects that a notebook shows as a drawing."""

    def _repr_svg_(self) -> str | None:
        """The SVG that a notebook shows; with None the notebook prints the object's repr."""
        return _drawers[0](self) if _drawers else None
