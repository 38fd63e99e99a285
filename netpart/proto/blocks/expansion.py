"""Expansion: the job with all blocks written out, and where each of its layers is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from netpart.errors import FieldPath, Position
from netpart.proto.blocks.builder import BodyBuilder
from netpart.proto.blocks.layer_writer import LayerWriter, Surroundings
from netpart.proto.blocks.library import Library, LibraryReader
from netpart.proto.blocks.origin import Origin
from netpart.proto.blocks.source import JobSource
from netpart.proto.blocks.template import Template
from netpart.proto.job_pb2 import JobProto
from netpart.proto.override import WRITTEN_OUT

BLOCKS = WRITTEN_OUT["NetProto"]
"""The fields of a net that are gone when blocks are written out."""


@dataclass(frozen=True)
class Expansion:
    """A job with its blocks written out. ``origins`` are those of the layers of ``proto`` as it was read.

    ``library`` has the blocks and values that it uses, and ``rest`` is the job without its layers and blocks.
    """

    source: JobSource
    library: Library = field(repr=False)
    rest: Template[JobProto] = field(repr=False)
    proto: JobProto = field(repr=False)
    origins: Sequence[Origin] = field(repr=False)

    def locate(self, at: FieldPath) -> Position | None:
        """The position of the field ``at`` of the net that is written out; None if it is not written."""
        if at[:2] != ("neuralnet", "layer") or len(at) < 3:
            return self.source.positions.get(at)
        index = int(at[2])
        return self.origins[index].position(at[3:]) if index < len(self.origins) else None

    @cached_property
    def instances(self) -> Mapping[str, Sequence[int]]:
        """The numbers of the layers in each instance, and in all instances of each layer kBlock, by its name."""
        found: dict[str, list[int]] = {}
        for number, origin in enumerate(self.origins):
            for name in dict.fromkeys(origin.within):
                found.setdefault(name, []).append(number)
        return found


def expand_blocks(source: JobSource, changed: bool = True) -> Expansion:
    """Write out the blocks of ``source``: repeated layers, included blocks, and placeholders.

    ``changed``: with the changes of layers kBlock. Raises ConfigError with the position and the instance of what is
    wrong.
    """
    library = LibraryReader().library(source)
    body = BodyBuilder().net_body(library)
    layers = list(LayerWriter(changed).layers(body, {}, Surroundings()))
    rest = _without_layers(source)
    proto = rest.fill(library.values)
    proto.neuralnet.layer.extend(each.layer for each in layers)
    return Expansion(source, library, rest, proto, [each.origin for each in layers])


def _without_layers(source: JobSource) -> Template[JobProto]:
    """The job without its layers and blocks."""
    rest = JobProto()
    rest.CopyFrom(source.proto)
    for name in ("layer", *BLOCKS):
        rest.neuralnet.ClearField(name)
    return Template(source, (), rest)
