"""What the text of a message has, and the message has not: the order of fields, placeholders and comments."""

from __future__ import annotations

from dataclasses import dataclass, field

from netpart.errors import FieldPath, Position


@dataclass
class TextNotes:
    """Notes by the paths of fields; ``order`` are those in the order in which they are written.

    ``unquoted`` are the placeholders in place of values that are no strings, ``comments`` the lines above a field.
    """

    order: list[FieldPath] = field(default_factory=list, compare=False)
    unquoted: dict[FieldPath, str] = field(default_factory=dict)
    comments: dict[FieldPath, list[str]] = field(default_factory=dict)

    def add_below(self, path: FieldPath, notes: TextNotes) -> None:
        """Add ``notes``, which are about the block at ``path``."""
        self.order += [(*path, *each) for each in notes.order]
        self.unquoted |= {(*path, *each): text for each, text in notes.unquoted.items()}
        self.comments |= {(*path, *each): lines for each, lines in notes.comments.items()}

    def positions(self) -> dict[FieldPath, Position]:
        """A position for each field, of which only the order counts."""
        return {path: Position("", line, 1) for line, path in enumerate(self.order, start=1)}
