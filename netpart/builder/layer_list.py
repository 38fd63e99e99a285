"""Layers that are added one after another, to a net or to a block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from netpart.builder.caller import CallerPosition, caller_position
from netpart.builder.field_values import fill_message
from netpart.builder.layer_methods import LayerMethods, method_types
from netpart.errors import ConfigError
from netpart.layers import layer_class
from netpart.proto.fields import message_fields, nearest_field_hint
from netpart.proto.job_pb2 import LayerProto


@dataclass(frozen=True)
class LayerHandle:
    """A layer that others may name as a source; ``owner`` is the list that it is in."""

    name: str
    owner: object = field(repr=False)


class LayerList(LayerMethods):
    """Layers in the order in which they are added; ``places`` are the lines of the program that have added them."""

    def __init__(self) -> None:
        self.layers: list[LayerProto] = []
        self.places: list[CallerPosition] = []
        self.names: set[str] = set()
        self._counts: Counter[str] = Counter()

    def add_layer(
        self, type: str, /, *sources: LayerHandle, name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (), **fields: Any,
    ) -> LayerHandle:  # fmt: skip
        """Add a layer of ``type`` ("kReLU"), which reads ``sources``, and return its handle.

        ``fields`` are those of its conf and of LayerProto, ``params`` its param blocks in order. Without ``name`` it is
        called after its type and counted. Raises ConfigError, with the line of the caller, for a field or value that
        the type does not have, and for a source that is in another list.
        """
        place = caller_position()
        with located_errors(place):
            layer = LayerProto(name=name or self._free_name(_method_name(type)), type=type)
            layer.srclayers.extend(self._source_name(source, layer.name) for source in sources)
            fill_message(layer, _by_conf(type, fields, layer.name) | {"param": list(params)}, layer.name)
            return self._append(layer, place)

    def _append(self, layer: LayerProto, place: CallerPosition) -> LayerHandle:
        """Add ``layer``, which is complete."""
        self.layers.append(layer)
        self.places.append(place)
        self.names.add(layer.name)
        return LayerHandle(layer.name, self)

    def _free_name(self, stem: str) -> str:
        """The first of stem1, stem2 and so on that no layer has."""
        name = ""
        while not name or name in self.names:
            self._counts[stem] += 1
            name = f"{stem}{self._counts[stem]}"
        return name

    def _source_name(self, source: LayerHandle, reader: str) -> str:
        """The name of a source. Raises ConfigError if it is no layer of this list."""
        if not isinstance(source, LayerHandle):
            raise ConfigError(reader, "sources that are layers", repr(source), "fields are passed by name: kernel=3")
        if source.owner is not self:
            hint = "pass it to the block as an input, or return it from its function"
            raise ConfigError(reader, "a source of the same net or block", source.name, hint)
        return source.name


@contextmanager
def located_errors(place: CallerPosition) -> Iterator[None]:
    """Errors that leave the block have the position ``place``."""
    try:
        yield
    except ConfigError as error:
        error.position = error.position or place
        raise


def _method_name(type: str) -> str:
    """The name of the method that adds layers of ``type``, or the type itself if none does."""
    return next((method for method, known in method_types().items() if known == type), type)


def _by_conf(type: str, fields: Mapping[str, Any], who: str) -> dict[str, Any]:
    """``fields`` as those of LayerProto: those of a conf of the type in a block. Raises ConfigError for others."""
    confs = layer_class(type).confs
    known = message_fields(LayerProto)
    found: dict[str, Any] = {}
    for name, value in fields.items():
        owner = next((conf for conf in confs if name in _conf_fields(conf)), None)
        if owner:
            found.setdefault(owner, {})[name] = value
        elif name in known:
            found[name] = value
        else:
            raise ConfigError(who, f"a field of {type}", repr(name), nearest_field_hint(name, _field_names(type)))
    return found


def _field_names(type: str) -> list[str]:
    """The names of the fields of a type: those of its confs, then those of every layer."""
    return [name for conf in layer_class(type).confs for name in _conf_fields(conf)] + list(message_fields(LayerProto))


def _conf_fields(conf: str) -> Mapping[str, FieldDescriptor]:
    """The fields of a conf, by name."""
    return message_fields(getattr(LayerProto(), conf))
