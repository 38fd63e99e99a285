"""Look of a drawing: what is folded, whether helpers are drawn, and the direction of the arrows."""

from __future__ import annotations

from dataclasses import dataclass

from netpart.choices import AUTO, BLOCKS, DOWN, NONE
from netpart.draw.joined_boxes import make_quotient
from netpart.draw.layer_groups import Nesting, fold_blocks, single_groups
from netpart.draw.picture import Picture
from netpart.draw.quotient import Quotient

MANY = 150
"""Up to this many parts are drawn one by one, unless ``fold`` says otherwise."""


@dataclass(frozen=True)
class DrawingLook:
    """How a net is drawn. ``fold`` is one of FOLDS, ``rankdir`` one of DIRECTIONS.

    ``helpers``: helpers are boxes of their own, where nothing is folded. ``nesting`` has the names of the blocks around
    each layer as the job's text has them, outermost first; without it blocks come from the names of layers.
    """

    fold: str = NONE
    helpers: bool = True
    rankdir: str = DOWN
    nesting: Nesting | None = None


PLAIN = DrawingLook()
"""Every part is drawn, from top to bottom."""


def fold_picture(shown: Picture, look: DrawingLook) -> Picture | Quotient:
    """``shown`` as ``look`` has it: its blocks folded, or its layers without helpers, or as it is."""
    if look.fold == BLOCKS or (look.fold == AUTO and len(shown.boxes) > MANY):
        return fold_blocks(shown, look.nesting)
    return shown if look.helpers else make_quotient(shown, single_groups(shown))
