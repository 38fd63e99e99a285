"""The line of a user's program that has called the builder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from netpart.errors import Position

_NETPART = str(Path(__file__).parent.parent) + os.sep


class CallerPosition(Position):
    """A line of a program; it has no column."""

    def __str__(self) -> str:
        inside = f" ({self.instance})" if self.instance else ""
        return f"{self.file}:{self.line}{inside}"


def caller_position() -> CallerPosition:
    """The innermost line that is not of netpart."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_NETPART):
        frame = frame.f_back
    return CallerPosition(frame.f_code.co_filename, frame.f_lineno, 1)
