"""Values of ``--set``: their parsing, and hints for wrong ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor

from netpart.proto.fields import WHOLE, is_repeated, nearest_value_hint
from netpart.proto.mistakes import meaning_hint, number_hint

_READERS: dict[int, Callable[[str], Any]] = {
    FieldDescriptor.CPPTYPE_INT32: partial(text_format.ParseInteger, is_signed=True),
    FieldDescriptor.CPPTYPE_INT64: partial(text_format.ParseInteger, is_signed=True, is_long=True),
    FieldDescriptor.CPPTYPE_UINT32: text_format.ParseInteger,
    FieldDescriptor.CPPTYPE_UINT64: partial(text_format.ParseInteger, is_long=True),
    FieldDescriptor.CPPTYPE_FLOAT: text_format.ParseFloat,
    FieldDescriptor.CPPTYPE_DOUBLE: text_format.ParseFloat,
    FieldDescriptor.CPPTYPE_BOOL: text_format.ParseBool,
    FieldDescriptor.CPPTYPE_STRING: str,
}
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_ROUND = re.compile(r"[-+]?\d{1,9}(\.0*)?([eE]\+?\d)?")
"""A whole number in the notation of a float: 10.0, 1e3."""


def read_value(field: FieldDescriptor, text: str) -> Any:
    """Parse one value of ``field``. Raises ValueError for text that is not such a value."""
    return text_format.ParseEnum(field, text) if field.enum_type else _READERS[field.cpp_type](text)


def value_hint(field: FieldDescriptor, text: str) -> str:
    """The hint for ``text``, which is not a value of ``field``: how to write one."""
    if field.enum_type:
        return nearest_value_hint(field, text)
    if is_repeated(field) and len(text.split()) > 1:
        return f"separate them by commas: {field.name}={','.join(text.split())}"
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return f"write {field.name}=true or {field.name}=false"
    if field.cpp_type in WHOLE:
        return _whole_number_hint(field, text)
    if _DECIMAL_COMMA.fullmatch(text):
        return f"numbers have a point, not a comma: {field.name}={text.replace(',', '.')}"
    return number_hint(field.name, text, "=")


def _whole_number_hint(field: FieldDescriptor, text: str) -> str:
    """The hint for ``text``, which is not a whole number."""
    if _ROUND.fullmatch(text):
        return f"write it in digits: {field.name}={float(text):.0f}"
    if "," in text and not is_repeated(field):
        return f"{field.name} takes one number: {field.name}={text.partition(',')[0].strip() or 1}"
    return meaning_hint(field) or f"write it in digits, as in {field.name}=10"
