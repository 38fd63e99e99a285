"""Placeholders ``${name}`` of a job's text: in strings, and in place of numbers and of values of enums."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from netpart.errors import FieldPath
from netpart.proto.fields import is_repeated, message_descriptor
from netpart.proto.mistakes import fields_at

Place = tuple[int, int]
"""Line and column, which count from 1."""
_PIECE = re.compile(r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n]*|(\$\{\w+\})""")
"""A string, a comment, or an unquoted placeholder, which is group 1."""
_NAMED = re.compile(r"\$\{([^}]*)\}")


class Hole(NamedTuple):
    """A value with placeholders: its path in a message, and its text."""

    path: FieldPath
    text: str


def hide_placeholders(text: str) -> tuple[str, dict[Place, str]]:
    """``text`` with a value in place of every unquoted placeholder, and the placeholders by their places.

    All other places stay as they are: so protobuf reads the text, and the positions of its mistakes are right.
    """
    found = dict(_unquoted_placeholders(text))
    if not found:
        return text, {}
    hidden = _replace_unquoted(text, {})
    fields = fields_at(hidden, found)
    others = {
        place: value for place, field in fields.items() if field and (value := _hiding_value(field, found[place]))
    }
    return (_replace_unquoted(text, others) if others else hidden), found


def _unquoted_placeholders(text: str) -> Iterator[tuple[Place, str]]:
    """The unquoted placeholders of ``text`` with their places."""
    line, start = 1, 0
    for match in _PIECE.finditer(text) if "${" in text else ():
        if match[1]:
            line += text.count("\n", start, match.start())
            start = match.start()
            yield (line, start - text.rfind("\n", 0, start)), match[1]


def _replace_unquoted(text: str, values: Mapping[Place, str]) -> str:
    """``text`` with a value, 1 unless ``values`` has another, and blanks in place of each unquoted placeholder."""
    places = iter([place for place, _ in _unquoted_placeholders(text)])

    def replace(match: re.Match[str]) -> str:
        return values.get(next(places), "1").ljust(len(match[0])) if match[1] else match[0]

    return _PIECE.sub(replace, text)


def _hiding_value(field: FieldDescriptor, placeholder: str) -> str:
    """What hides ``placeholder`` in a field: the first number of an enum, or a string; "" for any number."""
    if field.enum_type:
        return str(field.enum_type.values[0].number)
    return f'"{placeholder[2:-1]}"' if field.cpp_type == FieldDescriptor.CPPTYPE_STRING else ""


def text_holes(message: Message, path: FieldPath = ()) -> Iterator[Hole]:
    """The strings with placeholders in ``message`` and the blocks below it."""
    for field, value in message.ListFields():
        here = (*path, f"[{field.full_name}]" if field.is_extension else field.name)
        for k, each in enumerate(value if is_repeated(field) else [value]):
            at = (*here, k) if is_repeated(field) else here
            if isinstance(each, Message):
                yield from text_holes(each, at)
            elif isinstance(each, str) and "${" in each:
                yield Hole(at, each)


def fill_text(text: str, values: Mapping[str, str]) -> str:
    """``text`` with the values of its placeholders. Raises KeyError with the name of one that has none."""
    return _NAMED.sub(lambda match: values[match[1]], text)


def set_at(message: Message, path: FieldPath, value: Any) -> None:
    """Set the scalar field ``path`` below ``message``, or the element of a list."""
    target: Any = message
    for step in path[:-1] if isinstance(path[-1], str) else path[:-2]:
        target = target[step] if isinstance(step, int) else _child(target, step)
    if isinstance(path[-1], int):
        _child(target, str(path[-2]))[path[-1]] = value
    else:
        setattr(target, path[-1], value)


def field_at(message: Message, path: FieldPath) -> FieldDescriptor:
    """The descriptor of the field ``path`` below ``message``."""
    block: Descriptor = message_descriptor(message)
    names = [str(step) for step in path if not isinstance(step, int)]
    for name in names:
        found = block.file.pool.FindExtensionByName(name[1:-1]) if name[0] == "[" else block.fields_by_name[name]
        block = found.message_type or block
    return found


def _child(message: Any, step: str) -> Any:
    """The value of the field or extension ``step``."""
    if step[0] != "[":
        return getattr(message, step)
    return message.Extensions[message.DESCRIPTOR.file.pool.FindExtensionByName(step[1:-1])]
