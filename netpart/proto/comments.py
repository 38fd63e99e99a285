"""The comments of a job's text, by the field they stand at, so that a job can be written again with them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from netpart.errors import FieldPath, Position
from netpart.proto.positions import tokenize_text

OWN = "#:"
"""Starts a comment that netpart has written itself, and that it writes anew instead of keeping it."""


@dataclass
class Comments:
    """``above[path]``: the lines over a field, an empty one for a gap under a line; ``beside[path]``: what is behind.

    What stands behind the last field belongs to the empty path.
    """

    above: dict[FieldPath, list[str]] = field(default_factory=dict)
    beside: dict[FieldPath, str] = field(default_factory=dict)


def read_comments(text: str, starts: Mapping[FieldPath, Position]) -> Comments:
    """Collect the comments of ``text``, whose fields stand where ``starts`` says; netpart's own are left out.

    A comment behind a field belongs to the first field of its line, one on a line of its own to the next field.
    """
    comments = Comments()
    lines = text.split("\n")
    fields = sorted(starts, key=lambda path: (starts[path].line, starts[path].column, len(path)))
    places = [(starts[path].line, starts[path].column) for path in fields]
    for words, line, column in tokenize_text(text, comments=True):
        if not words.startswith("#") or words.startswith(OWN):
            continue
        first = bisect_left(places, (line, 0))
        behind = bisect_left(places, (line, column))
        if first < behind:
            comments.beside[fields[first]] = words.rstrip()
        else:
            above = comments.above.setdefault(fields[behind] if behind < len(fields) else (), [])
            gap = line < len(lines) and not lines[line].strip()
            above += [words.rstrip(), *[""] * gap]
    return comments
