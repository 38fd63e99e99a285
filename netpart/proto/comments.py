"""Comments of a job's text by the field to which they belong, so that a job can be written again with them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from netpart.errors import FieldPath, Position
from netpart.proto.positions import tokenize_text

OWN = "#:"
"""Beginning of the comments that netpart writes itself: they are generated anew and not kept."""


@dataclass
class Comments:
    """The comments of one text.

    ``above[path]`` are the lines above a field, with an empty line for a gap; those after the last field have the empty
    path. ``beside[path]`` is the comment at the end of the line on which the field begins.
    """

    above: dict[FieldPath, list[str]] = field(default_factory=dict)
    beside: dict[FieldPath, str] = field(default_factory=dict)


def read_comments(text: str, starts: Mapping[FieldPath, Position]) -> Comments:
    """Collect the comments of ``text``, except netpart's own; ``starts`` has the position of each field.

    A comment at the end of a line belongs to the first field of that line, one on its own line to the next field.
    """
    comments = Comments()
    lines = text.split("\n")
    # The length breaks ties: a repeated field and its first element have one position, and the list comes first.
    fields = sorted(starts, key=lambda path: (starts[path].line, starts[path].column, len(path)))
    places = [(starts[path].line, starts[path].column) for path in fields]
    for words, line, column in tokenize_text(text, comments=True):
        if not words.startswith("#") or words.startswith(OWN):
            continue
        first = bisect_left(places, (line, 0))  # the first field on this line or after it
        following = bisect_left(places, (line, column))  # the first field after the comment
        if first < following:  # a field begins on this line, before the comment
            comments.beside[fields[first]] = words.rstrip()
        else:
            above = comments.above.setdefault(fields[following] if following < len(fields) else (), [])
            gap = line < len(lines) and not lines[line].strip()
            above += [words.rstrip(), *[""] * gap]
    return comments
