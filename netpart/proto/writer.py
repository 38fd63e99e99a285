"""Writer of jobs as protobuf text: fields in the author's order, with the author's comments and those of netpart."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, NamedTuple

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from netpart.errors import FieldPath, Position
from netpart.proto.comments import OWN, Comments, read_comments
from netpart.proto.fields import is_repeated, message_descriptor
from netpart.proto.job_pb2 import JobProto, LayerBlockProto, LayerProto
from netpart.proto.layout.format_text import INDENT, format_text
from netpart.proto.positions import field_positions

WIDTH = 100
"""A block is written on one line if that line is shorter than this."""
HEAD = ("name", "type", "user_type", "include", "exclude", "srclayers")
CUT = ("partition_dim", "location", "cut", "remainder", "shard", "sum_gradient")
"""The fields that a layer begins with, and those of its cut, which follow them wherever the author had them."""

Notes = Mapping[FieldPath, Sequence[str]]
"""Comment lines of netpart above each field; those of the empty path are above the whole text."""


class FieldEntry(NamedTuple):
    """A field that is set: one value, a list of them, or one block of several."""

    path: FieldPath
    field: FieldDescriptor
    value: Any

    @property
    def key(self) -> str:
        """The name of the field in the text."""
        return f"[{self.field.full_name}]" if self.field.is_extension else self.field.name


def write_job(proto: JobProto, text: str = "", notes: Notes | None = None) -> str:
    """Write ``proto`` as text; order and comments are those of ``text``, the job it was read from.

    Comments of fields that no longer exist move to the next field. Reading the result gives ``proto`` again, and
    writing that with the same ``notes`` gives the same text again. The text is laid out as `netpart fmt` does.
    """
    found = field_positions(text, "", message_descriptor(JobProto))
    return write_placed_job(PlacedJob(proto, found, written_comments(proto, text, found)), notes or {})


@dataclasses.dataclass(frozen=True)
class PlacedJob:
    """A job, the positions that give the order of its fields in the text, and its comments.

    ``unquoted`` has the texts of placeholders that stand in place of values, by the paths of their fields.
    """

    proto: JobProto
    found: Mapping[FieldPath, Position]
    comments: Comments
    unquoted: Mapping[FieldPath, str] = dataclasses.field(default_factory=dict)


def written_comments(proto: JobProto, text: str, found: Mapping[FieldPath, Position]) -> Comments:
    """The comments of ``text``, at the fields that ``proto`` has; the comment of another goes to the next one."""
    return read_comments(text, {e.path: found[e.path] for e in _all_entries(proto, ()) if e.path in found})


def entry_paths(proto: JobProto) -> set[FieldPath]:
    """The paths of all fields that are set in ``proto``; each block of a repeated one has a path of its own."""
    return {entry.path for entry in _all_entries(proto, ())}


def write_placed_job(placed: PlacedJob, notes: Notes) -> str:
    """Write a job in its order and with its comments, and ``notes``."""
    return format_text("\n".join(JobWriter(placed, notes).lines()))


class JobWriter:
    """The writer of one job, a field per line where a block has no room on one."""

    def __init__(self, placed: PlacedJob, notes: Notes) -> None:
        self.proto = placed.proto
        self.found = placed.found
        self.comments = placed.comments
        self.unquoted = placed.unquoted
        self.notes = notes
        # A block with a comment anywhere inside cannot be on one line: the comment would swallow what follows it.
        commented = {*self.comments.above, *self.comments.beside, *notes}
        self.commented_blocks = {path[:n] for path in commented for n in range(len(path))}

    def lines(self) -> Iterator[str]:
        """The whole text, line by line."""
        if () in self.notes:
            yield from _mark_own_lines(self.notes[()])
            yield ""
        yield from self.block(self.proto, (), "")
        yield from self.comments.above.get((), [])

    def block(self, message: Message, path: FieldPath, indent: str) -> Iterator[str]:
        """The lines of a block's fields, each with the comments above it; an empty line between layers."""
        for n, entry in enumerate(self.sorted_entries(message, path)):
            if n and _is_paragraph(entry):
                yield ""
            for line in [*self.comments.above.get(entry.path, []), *_mark_own_lines(self.notes.get(entry.path, []))]:
                yield f"{indent}{line}".rstrip()
            beside = self.comments.beside.get(entry.path)
            first, *rest = self.entry(entry, indent)
            yield f"{first} {beside}" if beside else first
            yield from rest

    def entry(self, entry: FieldEntry, indent: str) -> Iterator[str]:
        """The lines of one field: one line if it fits and has no comment inside, else a block with a line per field."""
        line = indent + self.one_line(entry)
        fits = len(line) < WIDTH and not _is_layer(entry) and entry.path not in self.commented_blocks
        if fits or not isinstance(entry.value, Message):
            yield line
            return
        yield f"{indent}{entry.key} {{"
        yield from self.block(entry.value, entry.path, indent + INDENT)
        yield f"{indent}}}"

    def one_line(self, entry: FieldEntry) -> str:
        """One field on one line, without its comments."""
        if isinstance(entry.value, Message):
            inside = " ".join(self.one_line(e) for e in self.sorted_entries(entry.value, entry.path))
            return f"{entry.key} {{ {inside} }}" if inside else f"{entry.key} {{}}"
        if not is_repeated(entry.field):
            return f"{entry.key}: {self.scalar(entry.path, entry.field, entry.value)}"
        values = [self.scalar((*entry.path, k), entry.field, value) for k, value in enumerate(entry.value)]
        return f"{entry.key}: {values[0]}" if len(values) == 1 else f"{entry.key}: [{', '.join(values)}]"

    def scalar(self, path: FieldPath, field: FieldDescriptor, value: Any) -> str:
        """One value, or the placeholder in its place."""
        return self.unquoted.get(path) or _scalar_text(field, value)

    def sorted_entries(self, message: Message, path: FieldPath) -> list[FieldEntry]:
        """The fields of a block in the order in which they are written."""
        return sorted(_block_entries(message, path), key=self.entry_order)

    def entry_order(self, entry: FieldEntry) -> tuple[int, bool, int, int]:
        """The sort key of a field: a layer's head, its cut, then the rest; within each in the author's order.

        New fields follow in the order of their numbers.
        """
        rank = 2
        if entry.field.containing_type is message_descriptor(LayerProto):
            rank = 0 if entry.key in HEAD else 1 if entry.key in CUT else 2
        place = self.found.get(entry.path)
        index = entry.path[-1] if isinstance(entry.path[-1], int) else 0
        return (rank, False, place.line, place.column) if place else (rank, True, entry.field.number, index)


def _block_entries(message: Message, path: FieldPath) -> Iterator[FieldEntry]:
    """The fields of ``message`` that are set; each block of a repeated one is an entry of its own."""
    for field, value in message.ListFields():
        entry = FieldEntry((), field, value)
        if is_repeated(field) and field.message_type:
            yield from (FieldEntry((*path, entry.key, i), field, block) for i, block in enumerate(value))
        else:
            yield FieldEntry((*path, entry.key), field, value)


def _all_entries(message: Message, path: FieldPath) -> Iterator[FieldEntry]:
    """The fields that are set in ``message`` and in all blocks below it."""
    for entry in _block_entries(message, path):
        yield entry
        if isinstance(entry.value, Message):
            yield from _all_entries(entry.value, entry.path)


def _is_layer(entry: FieldEntry) -> bool:
    """True for a layer, which is never on one line."""
    return entry.field.message_type is message_descriptor(LayerProto)


def _is_paragraph(entry: FieldEntry) -> bool:
    """True for a layer and for a block of layers: an empty line precedes it."""
    return _is_layer(entry) or entry.field.message_type is message_descriptor(LayerBlockProto)


def _scalar_text(field: FieldDescriptor, value: Any) -> str:
    """One value in the notation of protobuf text."""
    out = StringIO()
    text_format.PrintFieldValue(field, value, out, as_utf8=True)
    return out.getvalue()


def _mark_own_lines(lines: Iterable[str]) -> Iterator[str]:
    """``lines`` with the mark of netpart's own comments."""
    return (f"{OWN} {line}".rstrip() for line in lines)
