"""Texts about fields for error messages: their kind, their meaning, and names close to a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.message import Message

from netpart.proto.declarations import find_declaration
from netpart.proto.synonyms import FIELDS, VALUES, plain_word, same_word

FEW = 12
"""Up to this many names are all listed if none is close to the wrong one."""

KINDS = {
    FieldDescriptor.CPPTYPE_INT32: "a whole number of 32 bits",
    FieldDescriptor.CPPTYPE_INT64: "a whole number of 64 bits",
    FieldDescriptor.CPPTYPE_UINT32: "a whole number from 0, of 32 bits",
    FieldDescriptor.CPPTYPE_UINT64: "a whole number from 0, of 64 bits",
    FieldDescriptor.CPPTYPE_FLOAT: "a number",
    FieldDescriptor.CPPTYPE_DOUBLE: "a number",
    FieldDescriptor.CPPTYPE_BOOL: "true or false",
    FieldDescriptor.CPPTYPE_STRING: "a string",
}
WHOLE = (
    FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64,
)  # fmt: skip
"""The types of fields that hold whole numbers."""


def message_descriptor(message: type[Message] | Message) -> Descriptor:
    """The descriptor of a message. The cast is needed as protobuf's Python and C implementations differ in its type."""
    return cast(Descriptor, message.DESCRIPTOR)


def message_fields(message: type[Message] | Message) -> Mapping[str, FieldDescriptor]:
    """The fields of a message by name."""
    return message_descriptor(message).fields_by_name


def is_repeated(field: FieldDescriptor) -> bool:
    """True for a repeated field. Its default is a list in every release of protobuf; 7 has removed ``label``."""
    return isinstance(field.default_value, list)


def is_required(field: FieldDescriptor) -> bool:
    """True for a required field. Asked of its declaration: releases of protobuf before 6 have no ``is_required``, and
    7 has removed ``label``."""
    declared = DescriptorProto()
    cast(Descriptor, field.containing_type).CopyToProto(declared)
    return any(each.label == each.LABEL_REQUIRED for each in declared.field if each.name == field.name)


def value_kind(field: FieldDescriptor) -> str:
    """The kind of a value of ``field``, e.g. ``a value of LayerType`` or ``a whole number of 32 bits``."""
    if field.enum_type:
        return f"a value of {field.enum_type.name}"
    if field.message_type:
        return f"a block {{ ... }} ({field.message_type.name})"
    return KINDS[field.cpp_type]


def blocks_with_field(block: Descriptor, name: str) -> list[str]:
    """The names of the fields of ``block`` that hold blocks with a field ``name``."""
    return [f.name for f in block.fields if f.message_type and name in f.message_type.fields_by_name]


def nearest_hint(name: str, known: Iterable[str]) -> str:
    """A hint with the ``known`` names closest to ``name``; with all if none is close and they are few; else ""."""
    names = list(known)
    if close := difflib.get_close_matches(name, names, 2):
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(names)}" if 0 < len(names) <= FEW else ""


def nearest_field_hint(name: str, known: Iterable[str]) -> str:
    """A hint for the unknown field ``name``: a known one with the same or a similar name, or the one that other
    frameworks call so; else the pages that explain all fields."""
    known = list(known)
    if same := same_word(name, known):
        return f"did you mean {same}?"
    foreign = FIELDS.get(plain_word(name), ("", ""))[1]
    return foreign or nearest_hint(name, known) or "docs/language.md and proto/ explain the fields"


def nearest_value_hint(field: FieldDescriptor, value: str) -> str:
    """A hint for the unknown enum value ``value``: a similar one, or the one that other frameworks call so."""
    enum = cast(EnumDescriptor, field.enum_type)
    known = list(enum.values_by_name)
    kind = enum.name
    foreign = VALUES.get(kind, {}).get(plain_word(value))
    same = same_word(value, known)
    all_types = "docs/layers.md lists all" if kind == "LayerType" else ""
    if foreign and not same:
        return "; ".join(filter(None, (foreign, all_types)))
    return f"did you mean {same}?" if same else nearest_hint(value, known) or all_types


def field_meaning(field: FieldDescriptor) -> str:
    """The comment of ``field`` in proto/: that after it on its line, else the lines above it; "" without one."""
    block = cast(Descriptor, field.containing_type)
    found = find_declaration(block.file.name, field.full_name)
    return found.comment if found else ""
