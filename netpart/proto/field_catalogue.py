"""The fields of the language, each with its type, default, meaning and place: for `netpart fields` and for editors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from netpart.errors import ConfigError
from netpart.proto.declarations import Declaration, find_declaration
from netpart.proto.fields import is_repeated, is_required, message_descriptor, nearest_field_hint
from netpart.proto.job_pb2 import JobProto

_NUMBER_TYPES = {
    FieldDescriptor.TYPE_INT32: "int32", FieldDescriptor.TYPE_INT64: "int64", FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64", FieldDescriptor.TYPE_FLOAT: "float", FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_BOOL: "bool", FieldDescriptor.TYPE_STRING: "string",
}  # fmt: skip


@dataclass(frozen=True)
class ValueDescription:
    """A value of an enum: its name and number in the language, and its meaning."""

    name: str
    number: int
    meaning: str


@dataclass(frozen=True)
class FieldDescription:
    """A field of a block. ``block`` and ``type`` are names of messages as proto/ has them, without the package.

    ``type`` is that of one value: int32, string, a message or an enum. ``default`` is None for a block, a list, and
    a field without a default. ``file`` is the name of a file in proto/, "" for a field of another package; ``line``
    counts from 1. ``values`` are those of an enum.
    """

    block: str
    name: str
    number: int
    type: str
    repeated: bool
    required: bool
    default: str | None
    meaning: str
    file: str
    line: int
    values: tuple[ValueDescription, ...]


def all_fields() -> list[FieldDescription]:
    """Every field of a job, block by block, each block once: a job's own fields first, in the order of proto/."""
    return [_describe_field(field) for block in _job_blocks() for field in block.fields]


def find_fields(name: str) -> list[FieldDescription]:
    """The fields that ``name`` means: those of the name, of the block, with the type, or with the value of an enum.

    ``name`` may have its block before a point: ``updater.type``, ``UpdaterProto.type``. Raises ConfigError with the
    nearest names for a name that no field has.
    """
    fields = all_fields()
    block, _, last = name.rpartition(".")
    holders = {field.type for field in fields if field.name == block} | {block}
    found = [field for field in fields if _is_meant(field, last) and (not block or field.block in holders)]
    if not found:
        known = {field.name for field in fields} | {field.block for field in fields}
        raise ConfigError(
            "fields", "a field, block, type or value", repr(name), nearest_field_hint(last, sorted(known))
        )
    return found


def _is_meant(field: FieldDescription, name: str) -> bool:
    """True for a field that has ``name`` itself, or whose block, type or one value has it."""
    return name in (field.name, field.block, field.type, *(value.name for value in field.values))


def _job_blocks() -> Iterator[Descriptor]:
    """The message of a job and all those below it."""
    waiting = [message_descriptor(JobProto)]
    known = {waiting[0].full_name}
    while waiting:
        block = waiting.pop(0)
        yield block
        for inner in (field.message_type for field in block.fields):
            if inner and inner.full_name not in known:
                known.add(inner.full_name)
                waiting.append(inner)


def _describe_field(field: FieldDescriptor) -> FieldDescription:
    block = cast(Descriptor, field.containing_type)
    declared = _declared(block, field.full_name)
    return FieldDescription(
        block=_short_name(block), name=field.name, number=field.number, type=_value_type(field),
        repeated=is_repeated(field), required=is_required(field), default=_default_text(field),
        meaning=declared.comment, file=block.file.name.rpartition("/")[2] if declared.line else "", line=declared.line,
        values=_enum_values(field.enum_type) if field.enum_type else (),
    )  # fmt: skip


def _declared(owner: Descriptor | EnumDescriptor, full_name: str) -> Declaration:
    return find_declaration(owner.file.name, full_name) or Declaration("", 0)


def _short_name(owner: Descriptor | EnumDescriptor) -> str:
    """The name of a message or enum without the package."""
    return owner.full_name.removeprefix("netpart.")


def _value_type(field: FieldDescriptor) -> str:
    owner = field.message_type or field.enum_type
    return _short_name(owner) if owner else _NUMBER_TYPES[field.type]


def _default_text(field: FieldDescriptor) -> str | None:
    """The default as a job writes it; None for a block, a list, and a field that has none."""
    if not field.has_default_value:
        return None
    if field.enum_type:
        return str(field.enum_type.values_by_number[field.default_value].name)
    if field.type == FieldDescriptor.TYPE_STRING:
        return f'"{field.default_value}"'
    # 60.0 is written 60, and 0.9 as it is.
    return str(field.default_value).lower().removesuffix(".0")


def _enum_values(enum: EnumDescriptor) -> tuple[ValueDescription, ...]:
    """The values of an enum in the order of proto/."""
    names = [(value.name, value.number) for value in cast(Any, enum.values)]
    return tuple(ValueDescription(n, number, _declared(enum, f"{enum.full_name}.{n}").comment) for n, number in names)
