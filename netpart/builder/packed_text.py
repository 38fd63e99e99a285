"""The text of a job that nobody has written yet: a layer in as few lines as there is room for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from re import sub
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from netpart.errors import FieldPath
from netpart.proto.job_pb2 import LayerBlockProto, LayerProto, NetProto
from netpart.proto.layout.format_text import INDENT, format_text
from netpart.proto.writer import FieldEntry, JobWriter, PlacedJob

PACKED = 112
"""Columns of a line of fields, without its indentation and brackets."""


def write_packed_job(placed: PlacedJob) -> str:
    """Write a job in its order and with its comments."""
    return format_text("\n".join(_PackedWriter(placed, {}).lines()))


class _PackedWriter(JobWriter):
    """A writer that fills lines; layers, blocks of layers and the fields of the job and the net begin lines."""

    def block(self, message: Message, path: FieldPath, indent: str) -> Iterator[str]:
        """The lines of a block's fields, each with the comments above it."""
        return self._field_lines(self.sorted_entries(message, path), indent)

    def entry(self, entry: FieldEntry, indent: str) -> Iterator[str]:
        """The lines of one field."""
        value = entry.value
        if isinstance(value, NetProto | LayerBlockProto):
            inside = self.sorted_entries(value, entry.path)
            head = [each for each in inside if isinstance(value, LayerBlockProto) and each.key != "layer"]
            yield from (indent + line for line in self._filled(entry.key, head))
            yield from self._field_lines([each for each in inside if each not in head], indent + INDENT)
            yield f"{indent}}}"
        else:
            lines = self._packed(entry) if isinstance(value, LayerProto) else self._atoms(entry)
            yield from (indent + line for line in lines)

    def _field_lines(self, entries: Sequence[FieldEntry], indent: str) -> Iterator[str]:
        """The lines of fields that begin lines; an empty one where layers begin, and above blocks and comments."""
        before: FieldEntry | None = None
        for entry in entries:
            comments = self.comments.above.get(entry.path, [])
            begins = entry.key == "block" or (entry.key == "layer" and before and before.key != "layer")
            if before and (comments or begins):
                yield ""
            yield from (f"{indent}{line}".rstrip() for line in comments)
            yield from self.entry(entry, indent)
            before = entry

    def _packed(self, entry: FieldEntry) -> list[str]:
        """A block in lines without indentation."""
        *lines, last = self._filled(entry.key, self.sorted_entries(entry.value, entry.path))
        return [*lines, f"{last} }}"]

    def _filled(self, title: str, entries: Sequence[FieldEntry]) -> list[str]:
        """The block ``title`` without its end, as many fields in a line as there is room for; changes begin lines."""
        lines = [f"{title} {{"]
        for entry in entries:
            for k, text in enumerate(self._atoms(entry)):
                if k or entry.key == "change" or len(lines[-1]) + len(text) + 1 > PACKED:
                    lines.append(text)
                else:
                    lines[-1] += f" {text}"
        return lines

    def _atoms(self, entry: FieldEntry) -> list[str]:
        """A field as one text, or a block without room in a line as several."""
        text = self.one_line(entry)
        whole = not isinstance(entry.value, Message) or (len(text) <= PACKED and "change" not in _field_names(entry))
        return [text] if whole else self._packed(entry)

    def scalar(self, path: FieldPath, field: FieldDescriptor, value: Any) -> str:
        """One value; numbers as a person writes them, 1 and 1e-5."""
        text = super().scalar(path, field, value)
        return sub(r"\.0$|(?<=e-)0", "", text) if isinstance(value, float) else text


def _field_names(entry: FieldEntry) -> list[str]:
    """The names of the fields that are set in a block."""
    return [field.name for field, _ in entry.value.ListFields()]
