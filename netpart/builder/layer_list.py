"""Layers that are added one after another, to a net or to a block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from netpart.builder.caller import CallerPosition, caller_position
from netpart.builder.field_values import fill_message
from netpart.builder.layer_fields import group_by_conf, name_values
from netpart.builder.layer_methods import LayerMethods, method_types
from netpart.builder.text_notes import TextNotes
from netpart.errors import ConfigError
from netpart.proto.job_pb2 import LayerProto


@dataclass(frozen=True)
class LayerHandle:
    """A layer that others may name as a source; ``owner`` is the list that it is in."""

    name: str
    owner: object = field(repr=False)


class LayerList(LayerMethods):
    """Layers in the order in which they are added; ``places`` are the lines of the program that have added them.

    ``notes`` has what their text has besides, by paths that begin with "layer" and the number of a layer.
    """

    def __init__(self) -> None:
        self.layers: list[LayerProto] = []
        self.places: list[CallerPosition] = []
        self.names: set[str] = set()
        self.notes = TextNotes()
        self._counts: Counter[str] = Counter()

    def add_layer(
        self, type: str, /, *given: Any, name: str | None = None, params: Sequence[Mapping[str, Any]] = (),
        **fields: Any,
    ) -> LayerHandle:  # fmt: skip
        """Add a layer of ``type`` ("kReLU") and return its handle.

        ``given`` are its sources, and then at most two values, of the first fields of its conf. ``fields`` are other
        fields of its conf and of LayerProto, ``params`` its param blocks in order; a value None leaves a field unset.
        Without ``name`` the layer is called after its type and counted. Raises ConfigError, with the line of the
        caller, for a field or value that the type does not have, and for a source that is in another list.
        """
        place = caller_position()
        with located_errors(place):
            name = name or self._free_name(_method_name(type))
            sources = list(takewhile(lambda each: isinstance(each, LayerHandle), given))
            values = name_values(type, given[len(sources) :], name)
            if twice := values.keys() & fields.keys():
                raise ConfigError(name, f"{min(twice)} once", "a value after the sources and one by name")
            grouped = group_by_conf(type, values | fields, name)
            return self._add_filled(name, type, sources, {**grouped, "param": list(params)}, place)

    def comment(self, text: str) -> None:
        """Write ``text`` as a comment above the layer that is added next."""
        above = self.notes.comments.setdefault(("layer", len(self.layers)), [])
        above += [f"# {line}".rstrip() for line in text.split("\n")]

    def _add_filled(
        self, name: str, type: str, sources: Sequence[LayerHandle], fields: Mapping[str, Any], place: CallerPosition
    ) -> LayerHandle:
        """Add a layer with ``fields``, which are those of LayerProto."""
        head: dict[str, Any] = {
            "name": name,
            "type": type,
            "srclayers": [self._source_name(source, name) for source in sources],
        }
        layer = LayerProto()
        fill_message(layer, {**head, **fields}, name, self.notes, ("layer", len(self.layers)))
        self.layers.append(layer)
        self.places.append(place)
        self.names.add(name)
        return LayerHandle(name, self)

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
            raise ConfigError(reader, "sources that are layers", repr(source), "values are passed by name")
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
