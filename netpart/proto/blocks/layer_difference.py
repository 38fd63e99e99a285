"""The fields in which two layers differ, and fields set as a whole."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from netpart.proto.fields import is_repeated, message_fields
from netpart.proto.job_pb2 import LayerProto

Difference = dict[str, Any]
"""Fields of a layer by name, with their values; None for a field that is not set."""


def layer_difference(before: LayerProto, after: LayerProto) -> Difference:
    """The fields that differ, as they are in ``after``."""
    if before == after:
        return {}
    names = {known.name for layer in (before, after) for known, _ in layer.ListFields() if not known.is_extension}
    return {name: got for name in names if (got := field_value(after, name)) != field_value(before, name)}


def field_value(layer: LayerProto, name: str) -> Any:
    """The value of a field; None if it is not set."""
    known = message_fields(layer)[name]
    if is_repeated(known):
        return list(getattr(layer, name)) or None
    return getattr(layer, name) if layer.HasField(name) else None


def write_field(layer: LayerProto, name: str, value: Any) -> None:
    """Set a field to ``value``, or clear it."""
    layer.ClearField(name)
    known: FieldDescriptor = message_fields(layer)[name]
    if value is None:
        return
    if is_repeated(known):
        getattr(layer, name).extend(value)
    elif known.message_type:
        getattr(layer, name).CopyFrom(value)
    else:
        setattr(layer, name, value)
