"""Settings of a cut: the values of ``--set`` that give a layer a cut which is written as fields of the layer."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from netpart.proto.job_pb2 import LayerProto
from netpart.proto.writer import CUT


def cut_settings(layer: LayerProto, cut: LayerProto) -> list[str]:
    """What ``--set`` takes to give ``layer``, as the job has it, the fields of ``cut`` instead of those of its cut.

    ``["fc1.cut=", "fc1.partition_dim=0"]``: fields that only the present cut has are cleared.
    """
    wanted = {field.name for field, _ in cut.ListFields()}
    # A list is set element by element, so what it had before is cleared.
    lists = {field.name for field, _ in cut.ListFields() if field.message_type}
    gone = [field.name for field, _ in layer.ListFields() if field.name in CUT and field.name not in wanted - lists]
    return [f"{layer.name}.{text}" for text in (*(f"{name}=" for name in gone), *_field_settings(cut))]


def _field_settings(message: Message, prefix: str = "") -> Iterator[str]:
    """``path=value`` for every field of ``message``."""
    for field, value in message.ListFields():
        name = f"{prefix}{field.name}"
        several = isinstance(value, list) or not isinstance(value, Message | bool | int | float | str | bytes)
        if field.message_type:
            for place, inner in enumerate(value if several else [value]):
                yield from _field_settings(inner, f"{name}[{place}]." if several else f"{name}.")
        else:
            yield f"{name}={','.join(_value_text(field, v) for v in (value if several else [value]))}"


def _value_text(field: FieldDescriptor, value: object) -> str:
    if isinstance(value, int) and field.enum_type:
        return str(field.enum_type.values_by_number[value].name)
    return str(value).lower() if isinstance(value, bool) else str(value)
