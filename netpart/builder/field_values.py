"""Values of Python in the fields of messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from netpart.builder.named_value import NamedValue
from netpart.builder.text_notes import TextNotes
from netpart.errors import ConfigError, FieldPath
from netpart.proto.fields import (
    is_repeated,
    message_descriptor,
    message_fields,
    nearest_field_hint,
    nearest_value_hint,
    value_kind,
)


def fill_message(message: Message, values: Mapping[str, Any], who: str, notes: TextNotes, path: FieldPath = ()) -> None:
    """Set the fields of ``message``; blocks are mappings, repeated fields one value or a sequence.

    None leaves a field unset. ``notes`` get the order of the fields and the placeholders; ``path`` is that of
    ``message`` in them. Raises ConfigError, which names ``who``, for an unknown field and for a value that a field
    cannot have.
    """
    known = message_fields(message)
    for name, value in values.items():
        if name not in known:
            expected = f"a field of {message_descriptor(message).name}"
            raise ConfigError(who, expected, repr(name), nearest_field_hint(name, known))
        if value is not None:
            _FieldFiller(known[name], f"{who}.{name}", notes).fill(message, value, (*path, name))


@dataclass(frozen=True)
class _FieldFiller:
    """Fills one field of messages; ``who`` is what errors call it."""

    field: FieldDescriptor
    who: str
    notes: TextNotes

    def fill(self, message: Message, value: Any, path: FieldPath) -> None:
        """Set the field, or add to a repeated one."""
        held = getattr(message, self.field.name)
        if not (is_repeated(self.field) and self.field.message_type):
            self.notes.order.append(path)
        if is_repeated(self.field):
            for each in _elements(value):
                self._append(held, each, (*path, len(held)))
        elif self.field.message_type:
            held.SetInParent()
            self._fill_block(held, value, path)
        else:
            self._set_scalar(lambda checked: setattr(message, self.field.name, checked), value, path)

    def _append(self, held: Any, value: Any, path: FieldPath) -> None:
        """Add an element to a repeated field."""
        if self.field.message_type:
            self.notes.order.append(path)
            self._fill_block(held.add(), value, path)
        else:
            self._set_scalar(held.append, value, path)

    def _fill_block(self, block: Message, value: Any, path: FieldPath) -> None:
        """Set the fields of a block from a mapping."""
        if not isinstance(value, Mapping):
            expected = f"a mapping of fields, as {value_kind(self.field)}"
            raise ConfigError(self.who, expected, repr(value), "write {'field': value}")
        fill_message(block, value, self.who, self.notes, path)

    def _set_scalar(self, assign: Callable[[Any], object], value: Any, path: FieldPath) -> None:
        """Assign one value; values of enums are given by their names, a placeholder hides behind any value."""
        enum, text = self.field.enum_type, self.field.cpp_type == FieldDescriptor.CPPTYPE_STRING
        if isinstance(value, NamedValue) and not text:
            self.notes.unquoted[path] = value
            assign(enum.values[0].number if enum else 1)
            return
        try:
            assign(enum.values_by_name[value].number if enum else value)
        except (KeyError, TypeError, ValueError):
            hint = nearest_value_hint(self.field, str(value)) if enum else ""
            raise ConfigError(self.who, value_kind(self.field), repr(value), hint) from None


def _elements(value: Any) -> Sequence[Any]:
    """The elements of a list, or a single value as one."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
