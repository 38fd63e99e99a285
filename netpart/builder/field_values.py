"""Values of Python in the fields of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from netpart.errors import ConfigError
from netpart.proto.fields import is_repeated, message_fields, nearest_field_hint, nearest_value_hint, value_kind


def fill_message(message: Message, values: Mapping[str, Any], who: str) -> None:
    """Set the fields of ``message``; blocks are mappings or messages, repeated fields one value or a sequence.

    None leaves a field unset. Raises ConfigError, which names ``who``, for an unknown field and a value that it cannot
    have.
    """
    known = message_fields(message)
    for name, value in values.items():
        if name not in known:
            expected = f"a field of {message.DESCRIPTOR.name}"
            raise ConfigError(who, expected, repr(name), nearest_field_hint(name, known))
        if value is not None:
            _fill_field(message, known[name], value, f"{who}.{name}")


def _fill_field(message: Message, field: FieldDescriptor, value: Any, who: str) -> None:
    """Set one field, or add to a repeated one."""
    if not is_repeated(field):
        _fill_one(message, field, value, who)
        return
    single = isinstance(value, str | Mapping | Message) or not isinstance(value, Sequence)
    for each in [value] if single else value:
        if field.message_type:
            _fill_block(getattr(message, field.name).add(), each, field, who)
        else:
            _guarded(lambda each=each: getattr(message, field.name).append(each), field, each, who)


def _fill_one(message: Message, field: FieldDescriptor, value: Any, who: str) -> None:
    """Set a field that is not repeated."""
    if field.message_type:
        block = getattr(message, field.name)
        block.SetInParent()
        _fill_block(block, value, field, who)
    else:
        _guarded(lambda: setattr(message, field.name, value), field, value, who)
