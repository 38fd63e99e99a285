"""Like layers: layers whose parts, of equal regions, need equal regions: the blocks of a net repeat them.

Such layers have equal confs, except for names, equal shapes and parameters, and need the same for their whole output.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from netpart.layers.layer import Layer
from netpart.layers.part import Needs
from netpart.proto.job_pb2 import LayerProto
from netpart.spec import Shard

Kind = int
"""A number that like layers share."""


@dataclass
class LikeLayers:
    """The kinds of layers, and what the shards of each kind need, each asked once."""

    by_layer: dict[Layer, Kind] = field(default_factory=dict)
    numbers: dict[Hashable, Kind] = field(default_factory=dict)
    known: dict[Hashable, Needs] = field(default_factory=dict)

    def kind(self, layer: Layer) -> Kind:
        """The kind of a layer."""
        if layer not in self.by_layer:
            self.by_layer[layer] = self.numbers.setdefault(_kind_key(layer), len(self.numbers))
        return self.by_layer[layer]

    def needs(self, layer: Layer, shard: Shard) -> Needs:
        """What a shard of a layer needs."""
        key = self.kind(layer), shard.region, shard.term
        if key not in self.known:
            self.known[key] = layer.needs(shard.region, shard.term)
        return self.known[key]


def unnamed_conf(conf: LayerProto) -> bytes:
    """``conf`` without names: those of the layer, of what it reads and of its parameters."""
    unnamed = LayerProto()
    unnamed.CopyFrom(conf)
    unnamed.ClearField("name")
    unnamed.ClearField("srclayers")
    for param in unnamed.param:
        param.ClearField("name")
    return unnamed.SerializePartialToString(deterministic=True)


def _kind_key(layer: Layer) -> Hashable:
    """Equal for like layers."""
    shapes = tuple(spec.shape for spec in layer.params)
    whole = layer.needs(layer.output.whole)
    return type(layer), unnamed_conf(layer.conf), layer.inputs, layer.outputs, shapes, whole
