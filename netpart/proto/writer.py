"""Writes a job as a person would: its fields in the author's order, with his comments and those of netpart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, NamedTuple

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from netpart.errors import FieldPath, Position
from netpart.proto.comments import OWN, read_comments
from netpart.proto.fields import is_repeated, message_descriptor
from netpart.proto.job_pb2 import JobProto, LayerProto
from netpart.proto.positions import field_positions

WIDTH = 100
"""A block goes on one line where that ends before this column."""
HEAD = ("name", "type", "user_type", "include", "exclude", "srclayers")
CUT = ("partition_dim", "location", "cut", "remainder", "shard", "sum_gradient")
"""What a layer begins with, and what says how it is cut: that comes next, wherever the author had it."""
INDENT = "  "

Notes = Mapping[FieldPath, Sequence[str]]
"""Lines that netpart says above a field; of the empty path, above everything."""


class FieldEntry(NamedTuple):
    """A field that is set: one value, a list of them, or one block of several."""

    path: FieldPath
    field: FieldDescriptor
    value: Any

    @property
    def key(self) -> str:
        """The name of the field, as the text has it."""
        return f"[{self.field.full_name}]" if self.field.is_extension else self.field.name


def write_job(proto: JobProto, text: str = "", notes: Notes | None = None) -> str:
    """The text of ``proto``; order and comments are those of ``text``, the job it came from.

    Comments of fields that are gone stand at the next field. Reading the text gives ``proto`` again, and writing
    that with the same ``notes`` gives the text again.
    """
    found = field_positions(text, "", message_descriptor(JobProto))
    return "\n".join(JobWriter(proto, text, found, notes or {}).lines()).rstrip() + "\n"


class JobWriter:
    """Writes one job."""

    def __init__(self, proto: JobProto, text: str, found: Mapping[FieldPath, Position], notes: Notes) -> None:
        self.proto = proto
        self.found = found
        self.notes = notes
        self.comments = read_comments(text, {e.path: found[e.path] for e in _all_entries(proto, ()) if e.path in found})
        said = {*self.comments.above, *self.comments.beside, *notes}
        self.commented_blocks = {path[:n] for path in said for n in range(len(path))}

    def lines(self) -> Iterator[str]:
        """The whole text, line by line."""
        if () in self.notes:
            yield from _mark_own_lines(self.notes[()])
            yield ""
        yield from self.block(self.proto, (), "")
        yield from self.comments.above.get((), [])

    def block(self, message: Message, path: FieldPath, indent: str) -> Iterator[str]:
        """The fields of a block, each with the comments above it; an empty line between layers."""
        for n, entry in enumerate(self.sorted_entries(message, path)):
            if n and _is_layer(entry):
                yield ""
            for line in [*self.comments.above.get(entry.path, []), *_mark_own_lines(self.notes.get(entry.path, []))]:
                yield f"{indent}{line}".rstrip()
            beside = self.comments.beside.get(entry.path)
            first, *rest = self.entry(entry, indent)
            yield f"{first} {beside}" if beside else first
            yield from rest

    def entry(self, entry: FieldEntry, indent: str) -> Iterator[str]:
        """One field: on one line if it fits and no comment stands inside, else with a block's fields below it."""
        line = indent + self.one_line(entry)
        fits = len(line) < WIDTH and not _is_layer(entry) and entry.path not in self.commented_blocks
        if fits or not isinstance(entry.value, Message):
            yield line
            return
        yield f"{indent}{entry.key} {{"
        yield from self.block(entry.value, entry.path, indent + INDENT)
        yield f"{indent}}}"

    def one_line(self, entry: FieldEntry) -> str:
        """A field as text, without its comments."""
        if isinstance(entry.value, Message):
            inside = " ".join(self.one_line(e) for e in self.sorted_entries(entry.value, entry.path))
            return f"{entry.key} {{ {inside} }}" if inside else f"{entry.key} {{}}"
        if not is_repeated(entry.field):
            return f"{entry.key}: {_scalar_text(entry.field, entry.value)}"
        values = [_scalar_text(entry.field, value) for value in entry.value]
        return f"{entry.key}: {values[0]}" if len(values) == 1 else f"{entry.key}: [{', '.join(values)}]"

    def sorted_entries(self, message: Message, path: FieldPath) -> list[FieldEntry]:
        """The fields of a block as they are written."""
        return sorted(_block_entries(message, path), key=self.entry_order)

    def entry_order(self, entry: FieldEntry) -> tuple[int, bool, int, int]:
        """Where a field stands among its neighbours: a layer's head, its cut, the rest; as written, then new ones."""
        rank = 2
        if entry.field.containing_type is message_descriptor(LayerProto):
            rank = 0 if entry.key in HEAD else 1 if entry.key in CUT else 2
        place = self.found.get(entry.path)
        index = entry.path[-1] if isinstance(entry.path[-1], int) else 0
        return (rank, False, place.line, place.column) if place else (rank, True, entry.field.number, index)


def _block_entries(message: Message, path: FieldPath) -> Iterator[FieldEntry]:
    """The fields of ``message`` that are set; of repeated blocks each one."""
    for field, value in message.ListFields():
        entry = FieldEntry((), field, value)
        if is_repeated(field) and field.message_type:
            yield from (FieldEntry((*path, entry.key, i), field, block) for i, block in enumerate(value))
        else:
            yield FieldEntry((*path, entry.key), field, value)


def _all_entries(message: Message, path: FieldPath) -> Iterator[FieldEntry]:
    """All fields that are set, of all blocks."""
    for entry in _block_entries(message, path):
        yield entry
        if isinstance(entry.value, Message):
            yield from _all_entries(entry.value, entry.path)


def _is_layer(entry: FieldEntry) -> bool:
    """True for a layer: it has a paragraph of its own."""
    return entry.field.message_type is message_descriptor(LayerProto)


def _scalar_text(field: FieldDescriptor, value: Any) -> str:
    """One value as text."""
    out = StringIO()
    text_format.PrintFieldValue(field, value, out, as_utf8=True)
    return out.getvalue()


def _mark_own_lines(lines: Iterable[str]) -> Iterator[str]:
    """Lines of netpart's own, marked as such."""
    return (f"{OWN} {line}".rstrip() for line in lines)
