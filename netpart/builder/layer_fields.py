"""The fields of a layer type: by the confs that have them, and those that may be given without their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from netpart.errors import ConfigError
from netpart.layers import layer_class
from netpart.proto.fields import message_fields, nearest_field_hint
from netpart.proto.job_pb2 import LayerProto

POSITIONAL = 2
"""So many values may follow the sources of a layer: they are the first fields of its type."""


def name_values(type: str, values: Sequence[Any], who: str) -> dict[str, Any]:
    """``values``, which follow the sources, by the names of their fields. Raises ConfigError for more of them."""
    names = _conf_field_names(type)[:POSITIONAL]
    if len(values) > len(names):
        expected = f"sources, then {' and '.join(names)}" if names else "sources that are layers"
        raise ConfigError(who, expected, repr(values[len(names)]), "pass other fields by name")
    return dict(zip(names, values, strict=False))


def group_by_conf(type: str, fields: Mapping[str, Any], who: str) -> dict[str, Any]:
    """``fields`` as those of LayerProto: those of a conf of the type in a block. Raises ConfigError for others."""
    confs = layer_class(type).confs
    known = message_fields(LayerProto)
    found: dict[str, Any] = {}
    for name, value in fields.items():
        owner = next((conf for conf in confs if name in _conf_fields(conf)), None)
        if value is None:
            continue
        if owner:
            found.setdefault(owner, {})[name] = value
        elif name in known:
            found[name] = value
        else:
            hint = nearest_field_hint(name, [*_conf_field_names(type), *known])
            raise ConfigError(who, f"a field of {type}", repr(name), hint)
    return found


def _conf_field_names(type: str) -> list[str]:
    """The names of the fields of the confs of a type, in the order of proto/."""
    return list(dict.fromkeys(name for conf in layer_class(type).confs for name in _conf_fields(conf)))


def _conf_fields(conf: str) -> Mapping[str, FieldDescriptor]:
    """The fields of a conf, by name."""
    return message_fields(getattr(LayerProto(), conf))
