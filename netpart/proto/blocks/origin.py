"""Where the layers of a net whose blocks are written out are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from netpart.errors import FieldPath, Position
from netpart.proto.blocks.template import Template
from netpart.proto.job_pb2 import LayerProto


@dataclass(frozen=True)
class Origin:
    """Where a layer is written: the template, and the instance that it is in.

    ``within`` are the names in the net of all layers kBlock and instances around it, outermost first; ``outermost`` is
    the path of the first of these, empty for a layer of the net. ``changes`` has the change that set each field.
    """

    template: Template[LayerProto]
    instance: str
    within: tuple[str, ...]
    outermost: FieldPath = ()
    changes: Mapping[str, tuple[Template[LayerProto], FieldPath]] = field(default_factory=dict)

    def position(self, rest: FieldPath) -> Position | None:
        """The position of the field ``rest`` of the layer; None if it is not written."""
        places: list[tuple[Template[LayerProto], FieldPath]] = [(self.template, ())]
        if rest and str(rest[0]) in self.changes:
            places.insert(0, self.changes[str(rest[0])])
        found = (template.source.positions.get((*template.at, *path, *rest)) for template, path in places)
        position = next(filter(None, found), None)
        return replace(position, instance=self.instance) if position else None


@dataclass(frozen=True)
class ExpandedLayer:
    """A layer of the net whose blocks are written out, and its origin."""

    layer: LayerProto
    origin: Origin
