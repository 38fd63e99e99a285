"""Writer of layers: gives the layers of bodies their names in the net, and those of what they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from netpart.errors import FieldPath
from netpart.proto.blocks.body import Body, LayerItem, Outputs, UseItem, unknown_name
from netpart.proto.blocks.changes import changed_layers
from netpart.proto.blocks.origin import ExpandedLayer, Origin
from netpart.proto.job_pb2 import LayerProto


@dataclass(frozen=True)
class ParameterScope:
    """The parameters that the layers of a body, and of the instances in it, may share."""

    body: Body

    @cached_property
    def parameters(self) -> set[str]:
        """The names of the parameters of its layers, as they are written in it."""
        return {param.name for item in self.body.items for param in item.template.message.param if param.name}

    def full_name(self, name: str) -> str | None:
        """The name in the net of the parameter ``name``, or LAYER/NAME; None if it does not belong to the body."""
        owner, slash, rest = name.partition("/")
        if name in self.parameters or self.body.instance_of(name):
            return self.body.prefix + name
        layer = self.body.members.get(owner) if slash else None
        return f"{layer}/{rest}" if isinstance(layer, str) else None


class Surroundings(NamedTuple):
    """The names of the layers kBlock and instances around a body, and the path of the outermost layer kBlock.

    ``scopes`` are those of the bodies around it, the innermost first.
    """

    within: tuple[str, ...] = ()
    outermost: FieldPath = ()
    scopes: tuple[ParameterScope, ...] = ()


@dataclass(frozen=True)
class LayerWriter:
    """Writes out the layers of bodies; ``changed``: with the changes of layers kBlock."""

    changed: bool

    def layers(self, body: Body, inputs: Mapping[str, str], around: Surroundings) -> Iterator[ExpandedLayer]:
        """The layers of ``body``, whose inputs are layers of the net."""
        scopes = (ParameterScope(body), *around.scopes)
        for item in body.items:
            if isinstance(item, UseItem):
                found = list(self.used(body, item, inputs, around._replace(scopes=scopes)))
                yield from changed_layers(body, item, found) if self.changed else found
                continue
            layer = item.layer
            layer.name = item.name
            layer.srclayers[:] = _sources(body, item, inputs)
            if body.instance:
                _name_parameters(layer, scopes)
            yield ExpandedLayer(layer, Origin(item.template, body.instance, around.within, around.outermost))

    def used(
        self, body: Body, use: UseItem, inputs: Mapping[str, str], around: Surroundings
    ) -> Iterator[ExpandedLayer]:
        """The layers of the instances of ``use``, each of which reads the outputs of the one before."""
        names = use.definition.message.input
        sources = _sources(body, use, inputs)
        _check_inputs(body, use, sources)
        for made in use.bodies:
            within = (*around.within, use.name, made.instance)
            inside = Surroundings(within, around.outermost or use.template.at, around.scopes)
            yield from self.layers(made, dict(zip(names, sources, strict=True)), inside)
            sources = [*made.outputs, *sources[len(made.outputs) :]]


def _check_inputs(body: Body, use: UseItem, sources: Sequence[str]) -> None:
    """Raise ConfigError unless each input of the block has a source, and the next instance can read the outputs."""
    block = use.definition.message
    if len(sources) != len(block.input):
        expected = f"{len(block.input)} sources, the inputs of block {block.name}"
        hint = f"its inputs are {', '.join(block.input)}" if block.input else "it has no input"
        raise use.template.error(("srclayers",), expected, str(len(sources)), hint, body.instance)
    if len(use.bodies) > 1 and len(block.output) > len(block.input):
        expected = f"at most {len(block.input)} outputs, as block {block.name} has so many inputs"
        hint = "each instance reads the outputs of the one before"
        raise use.template.error(("block_conf", "times"), expected, str(len(block.output)), hint, body.instance)


def _sources(body: Body, item: LayerItem | UseItem, inputs: Mapping[str, str]) -> list[str]:
    """The sources of a layer by their names in the net. Raises ConfigError for one that it cannot read."""
    found = []
    for k, name in enumerate(item.layer.srclayers):
        source = inputs.get(name) or body.members.get(name)
        if isinstance(source, Outputs) and len(source.names) == 1:
            source = source.names[0]
        if not isinstance(source, str):
            unknown = not body.instance and source is None and not body.use_of(name)
            if unknown and isinstance(item, LayerItem):
                source = name  # the net has no such layer: that is reported with the names of all others
            else:
                expected = "a layer or an input of the block" if body.instance else "a layer that may be read here"
                raise unknown_name(body, item.template, ("srclayers", k), name, expected)
        found.append(source)
    return found


def _name_parameters(layer: LayerProto, scopes: Sequence[ParameterScope]) -> None:
    """Give the parameters of a layer of an instance, the innermost of ``scopes``, their names in the net.

    What ``share_from`` names is looked up in the block, then in those that use it, then in the net. The parameter that
    is to share its own values has them.
    """
    for param in layer.param:
        if param.name:
            param.name = scopes[0].body.prefix + param.name
        found = (scope.full_name(param.share_from) for scope in scopes)
        param.share_from = next(filter(None, found), param.share_from)
        if not param.share_from or param.share_from == param.name:
            param.ClearField("share_from")
