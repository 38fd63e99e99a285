"""Values of Python in the fields of messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from netpart.errors import ConfigError
from netpart.proto.fields import (
    is_repeated,
    message_descriptor,
    message_fields,
    nearest_field_hint,
    nearest_value_hint,
    value_kind,
)


def fill_message(message: Message, values: Mapping[str, Any], who: str) -> None:
    """Set the fields of ``message``; blocks are mappings, repeated fields one value or a sequence.

    None leaves a field unset. Raises ConfigError, which names ``who``, for an unknown field and for a value that a
    field cannot have.
    """
    known = message_fields(message)
    for name, value in values.items():
        if name not in known:
            expected = f"a field of {message_descriptor(message).name}"
            raise ConfigError(who, expected, repr(name), nearest_field_hint(name, known))
        if value is not None:
            _fill_field(message, known[name], value, f"{who}.{name}")


def _fill_field(message: Message, field: FieldDescriptor, value: Any, who: str) -> None:
    """Set one field, or add to a repeated one."""
    held = getattr(message, field.name)
    if is_repeated(field):
        for each in _elements(value):
            if field.message_type:
                _fill_block(held.add(), field, each, who)
            else:
                _set_scalar(held.append, field, each, who)
    elif field.message_type:
        held.SetInParent()
        _fill_block(held, field, value, who)
    else:
        _set_scalar(lambda checked: setattr(message, field.name, checked), field, value, who)


def _elements(value: Any) -> Sequence[Any]:
    """The elements of a list, or a single value as one."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _fill_block(block: Message, field: FieldDescriptor, value: Any, who: str) -> None:
    """Set the fields of a block from a mapping."""
    if not isinstance(value, Mapping):
        raise ConfigError(who, f"a mapping of fields, as {value_kind(field)}", repr(value), "write {'field': value}")
    fill_message(block, value, who)


def _set_scalar(assign: Callable[[Any], object], field: FieldDescriptor, value: Any, who: str) -> None:
    """Assign one value; values of enums are given by their names."""
    try:
        number = field.enum_type.values_by_name[value].number if field.enum_type else value
        assign(number)
    except (KeyError, TypeError, ValueError):
        hint = nearest_value_hint(field, str(value)) if field.enum_type else ""
        raise ConfigError(who, value_kind(field), repr(value), hint) from None
