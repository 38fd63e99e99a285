"""Checks for fields of a layer that its type does not read: the conf of another type, param blocks without a use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from google.protobuf.descriptor import FieldDescriptor

from netpart.errors import ConfigError
from netpart.layers import layer_class, layer_type_names
from netpart.layers.layer import Layer
from netpart.proto.fields import is_repeated

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import LayerProto


def find_conf_errors(kind: type[Layer], type_name: str, conf: LayerProto) -> Iterator[ConfigError]:
    """Yield the errors of a layer of class ``kind`` that can be found without shapes.

    ``type_name`` is the name of the type in the job. ``at`` of an error is the path below the LayerProto.
    """
    for field, _ in conf.ListFields():
        if _is_conf_field(field) and _field_text(field) not in kind.confs:
            yield ConfigError(
                conf.name,
                _expected_confs(kind, type_name),
                _field_text(field),
                _conf_hint(kind, field),
                at=_conf_path(field),
            )
    # A type with parameters overrides ``parameters``. How many it has may depend on shapes, so that a surplus is
    # found later, by ``refuse_surplus_params``.
    if conf.param and kind.parameters is Layer.parameters:
        expected = f"no param, as {type_name} has no parameters"
        yield ConfigError(conf.name, expected, f"{len(conf.param)}", "remove it", at=("param", 0))


def refuse_surplus_params(layer: Layer, type_name: str) -> None:
    """Raise ConfigError for a layer with more param blocks than it has parameters."""
    given = len(layer.conf.param)
    known = len(layer.params)
    if given > known and type(layer).parameters is not Layer.parameters:
        expected = f"at most {known} param blocks, as {type_name} has no more parameters"
        raise ConfigError(layer.name, expected, f"{given}", "remove the last", at=("param", known))


def _is_conf_field(field: FieldDescriptor) -> bool:
    """True for a field of LayerProto that configures a type: a message of its own, or an extension of a package."""
    return bool(field.is_extension or (field.message_type and not is_repeated(field)))


def _field_text(field: FieldDescriptor) -> str:
    """The name of a field in the text of a job."""
    return f"[{field.full_name}]" if field.is_extension else field.name


def _conf_path(field: FieldDescriptor) -> tuple[str]:
    """The path of a field below its LayerProto."""
    return (_field_text(field),)


def _expected_confs(kind: type[Layer], type_name: str) -> str:
    """The confs that a type reads, as the expected part of an error."""
    return (
        f"{' and '.join(kind.confs)} only, as {type_name} reads no other conf"
        if kind.confs
        else f"no conf, as {type_name} reads none"
    )


def _conf_hint(kind: type[Layer], field: FieldDescriptor) -> str:
    """The next step of an error: the types that the field belongs to, or how a package's type declares the field."""
    name = _field_text(field)
    if not kind.__module__.startswith("netpart."):
        return f'remove it, or declare confs = ("{name}",) in the class {kind.__qualname__}, if that reads it'
    owners = dict.fromkeys(
        layer_class(other).types[0] for other in layer_type_names() if name in layer_class(other).confs
    )
    whose = f"it belongs to {' or '.join(owners)}: " if owners else ""
    return f"{whose}remove it" + (f", or write its fields in {kind.confs[-1]}" if kind.confs else "")
