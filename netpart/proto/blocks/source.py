"""The text of one file of a job: parsed, with its placeholders, and with the positions of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import metadata
from pathlib import Path

from google.protobuf import text_format

from netpart.errors import ConfigError, FieldPath, Position, combine_faults
from netpart.proto.all_mistakes import collect_mistakes
from netpart.proto.blocks.placeholders import hide_placeholders
from netpart.proto.fields import message_descriptor
from netpart.proto.job_pb2 import JobProto, LayerProto, LayerType
from netpart.proto.mistakes import is_extension_error, missing_fields
from netpart.proto.override import WRITTEN_OUT
from netpart.proto.positions import field_positions, value_paths


@dataclass(frozen=True, eq=False)
class JobSource:
    """A job's text and the JobProto that it is.

    ``name`` stands for the file in errors; ``path`` is None for text that is not from a file. In ``text`` and ``proto``
    a number stands in place of each unquoted placeholder; ``unquoted`` has these by the paths of their fields.
    """

    name: str
    path: Path | None
    text: str = field(repr=False)
    proto: JobProto = field(repr=False)
    unquoted: Mapping[FieldPath, str] = field(default_factory=dict, repr=False)

    @cached_property
    def positions(self) -> Mapping[FieldPath, Position]:
        """The position of every field."""
        return field_positions(self.text, self.name, message_descriptor(JobProto))

    @cached_property
    def unquoted_by_owner(self) -> Mapping[FieldPath, Mapping[FieldPath, str]]:
        """The unquoted placeholders of each layer, by its path, and with the empty path those outside of all layers."""
        found: dict[FieldPath, dict[FieldPath, str]] = {}
        for path, text in self.unquoted.items():
            found.setdefault(layer_path(path), {})[path] = text
        return found

    def position(self, at: FieldPath, instance: str = "") -> Position:
        """The position of the innermost field on the path ``at`` that is written, with ``instance``."""
        found = (self.positions.get(at[:n]) for n in range(len(at), 0, -1))
        return replace(next(filter(None, found), Position(self.name, 1, 1)), instance=instance)

    @property
    def has_blocks(self) -> bool:
        """True if there is anything to write out: blocks, values with names, or a layer kBlock."""
        net = self.proto.neuralnet
        return bool(self.unquoted or net.block or net.let or net.include) or any(map(_uses_block, net.layer))


def read_job_source(text: str, name: str, path: Path | None) -> JobSource:
    """Parse ``text``. Raises ConfigError with all its mistakes, and for a placeholder that is no whole value."""
    hidden, places = hide_placeholders(text)
    # protobuf's own error is one mistake without context. The text is read again to find all of them.
    try:
        proto = _parse_job_proto(hidden)
    except text_format.ParseError:
        raise collect_mistakes(hidden, name) from None
    source = JobSource(name, path, hidden, proto)
    return replace(source, unquoted=_placeholder_paths(source, places)) if places else source


def check_required_fields(source: JobSource) -> None:
    """Raise ConfigError, with their positions, for the required fields that ``source`` lacks.

    A change has the fields that it sets alone; of these only the name is required.
    """
    faults = [fault for fault in missing_fields(source.proto) if not _is_within_change(fault.at or ())]
    for fault in faults:
        fault.position = source.position(fault.at or ())
    if faults:
        raise combine_faults(faults)


def _is_within_change(path: FieldPath) -> bool:
    """True for a field of a block in a change."""
    return "change" in path[:-3]


def _placeholder_paths(source: JobSource, places: Mapping[tuple[int, int], str]) -> dict[FieldPath, str]:
    """The placeholders by the paths of their fields; raises ConfigError for one that is part of a number."""
    paths = value_paths(source.text, message_descriptor(JobProto))
    for place, text in places.items():
        if place not in paths:
            position = Position(source.name, *place)
            hint = "a placeholder is a whole value; other values come from a `let` of their own"
            raise ConfigError(text, "a value before or after a blank", "one within a number", hint, position=position)
        if paths[place][1:2] and paths[place][1] in WRITTEN_OUT["NetProto"] and not layer_path(paths[place]):
            hint = f'in a value of let write it in quotes: "{text}"'
            raise ConfigError(text, "no placeholder here", "one", hint, position=Position(source.name, *place))
    return {paths[place]: text for place, text in places.items()}


def layer_path(path: FieldPath) -> FieldPath:
    """The path of the layer, of the net or of a block, that has the field ``path``; the empty path if none has it."""
    if path[:2] == ("neuralnet", "layer"):
        return path[:3]
    return path[:5] if path[:2] == ("neuralnet", "block") and path[3:4] == ("layer",) else ()


def _uses_block(layer: LayerProto) -> bool:
    """True for a layer kBlock, and for one with its conf."""
    return layer.type == LayerType.kBlock or layer.HasField("block_conf")


def _parse_job_proto(text: str) -> JobProto:
    """Parse protobuf text as a JobProto. Raises ParseError.

    If the text has an unknown extension, the packages that bring layer types are imported first: they register theirs.
    """
    try:
        return text_format.Parse(text, JobProto())
    except text_format.ParseError as error:
        if not is_extension_error(error):
            raise
        _import_layer_packages()
        return text_format.Parse(text, JobProto())


def _import_layer_packages() -> None:
    """Import the packages that bring layer types, which registers the extensions that they read."""
    for entry in metadata.entry_points(group="netpart.layers"):
        with suppress(Exception):  # a package that cannot be imported is reported when its layer is built
            entry.load()
