"""The line of a user's program that has called the builder."""

from __future__ import annotations

import sys
from pathlib import Path

from netpart.errors import Position

_INSIDE = tuple(str(Path(__file__).parent.parent / room) for room in ("builder", "blocks"))


class CallerPosition(Position):
    """A line of a program; it has no column."""

    def __str__(self) -> str:
        inside = f" ({self.instance})" if self.instance else ""
        return f"{self.file}:{self.line}{inside}"


def caller_position() -> CallerPosition:
    """The innermost line that is neither of the builder nor of the blocks that come with it."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_INSIDE):
        frame = frame.f_back
    return CallerPosition(frame.f_code.co_filename, frame.f_lineno, 1)
