"""Expansion: the job with all blocks written out, and where each of its layers is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from netpart.errors import FieldPath, Position
from netpart.proto.blocks.body import Body, Builder, LayerItem, Outputs, UseItem, unknown_name
from netpart.proto.blocks.library import Library, LibraryReader
from netpart.proto.blocks.source import JobSource
from netpart.proto.blocks.template import Template
from netpart.proto.fields import is_repeated, nearest_hint
from netpart.proto.job_pb2 import JobProto, LayerProto
from netpart.proto.name_patterns import matching_names
from netpart.proto.override import WRITTEN_OUT

BLOCKS = WRITTEN_OUT["NetProto"]
"""The fields of a net that are gone when blocks are written out."""
NOT_CHANGED = ("name", "type", "srclayers", "block_conf")
"""The fields that a change cannot set."""


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
    body = Builder().net_body(library)
    layers = list(_LayerWriter(changed).layers(body, {}, _Surroundings()))
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


class _Surroundings(NamedTuple):
    """The names of the layers kBlock and instances around a body, and the path of the outermost layer kBlock."""

    within: tuple[str, ...] = ()
    outermost: FieldPath = ()


@dataclass(frozen=True)
class _LayerWriter:
    """Writes out the layers of bodies; ``changed``: with the changes of layers kBlock."""

    changed: bool

    def layers(self, body: Body, inputs: Mapping[str, str], around: _Surroundings) -> Iterator[ExpandedLayer]:
        """The layers of ``body``, whose inputs are layers of the net."""
        local = {item.layer.name: item.name for item in body.items if isinstance(item, LayerItem)}
        parameters = {p.name for item in body.items for p in item.layer.param if p.name}
        for item in body.items:
            if isinstance(item, UseItem):
                found = list(self.used(body, item, inputs, around))
                yield from _changed_layers(body, item, found) if self.changed else found
                continue
            layer = item.layer
            layer.name = item.name
            layer.srclayers[:] = _sources(body, item, inputs)
            if body.instance:
                _name_parameters(body, layer, local, parameters)
            yield ExpandedLayer(layer, Origin(item.template, body.instance, around.within, around.outermost))

    def used(
        self, body: Body, use: UseItem, inputs: Mapping[str, str], around: _Surroundings
    ) -> Iterator[ExpandedLayer]:
        """The layers of the instances of ``use``, each of which reads the outputs of the one before."""
        names = use.definition.message.input
        sources = _sources(body, use, inputs)
        _check_inputs(body, use, sources)
        for made in use.bodies:
            inside = _Surroundings((*around.within, use.name, made.instance), around.outermost or use.template.at)
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
            if not body.instance and source is None and not body.instance_of(name):
                source = name  # the net has no such layer: that is reported with the names of all others
            else:
                expected = "a layer or an input of the block" if body.instance else "a layer that may be read here"
                raise unknown_name(body, item.template, ("srclayers", k), name, expected)
        found.append(source)
    return found


def _name_parameters(body: Body, layer: LayerProto, local: Mapping[str, str], parameters: set[str]) -> None:
    """Give the parameters of a layer of an instance their names in the net.

    Names of parameters and layers of the block belong to the instance; others are those of the net. The parameter that
    is to share its own values has them.
    """
    for param in layer.param:
        if param.name:
            param.name = body.prefix + param.name
        owner, slash, rest = param.share_from.partition("/")
        if param.share_from in parameters or body.instance_of(param.share_from):
            param.share_from = body.prefix + param.share_from
        elif slash and owner in local:
            param.share_from = f"{local[owner]}/{rest}"
        if param.name and param.share_from == param.name:
            param.ClearField("share_from")


def _changed_layers(body: Body, use: UseItem, layers: list[ExpandedLayer]) -> Iterator[ExpandedLayer]:
    """``layers`` of the instances of ``use`` after its changes. Raises ConfigError for one that changes nothing."""
    names = [body.local_name(each.layer.name) for each in layers]
    for k, change in enumerate(use.layer.block_conf.change):
        at = ("block_conf", "change", k)
        _check_change(body, use, at, change)
        chosen = set(matching_names(change.name, names))
        if not chosen:
            hint = nearest_hint(change.name, names)
            raise use.template.error((*at, "name"), "names of layers", repr(change.name), hint, body.instance)
        for n, name in enumerate(names):
            if name in chosen:
                layers[n] = _changed_layer(layers[n], use.template, at, change)
    yield from layers


def _check_change(body: Body, use: UseItem, at: FieldPath, change: LayerProto) -> None:
    """Raise ConfigError for a change of a field that says which layer it is, or what it reads."""
    for name in NOT_CHANGED[1:]:
        if name in [known.name for known, _ in change.ListFields()]:
            raise use.template.error((*at, name), "a field that may differ", name, "use another block", body.instance)


def _changed_layer(
    found: ExpandedLayer, template: Template[LayerProto], at: FieldPath, change: LayerProto
) -> ExpandedLayer:
    """The layer after ``change``, which is written at ``at`` of ``template``."""
    _set_fields(found.layer, change)
    changed = {known.name: (template, at) for known, _ in change.ListFields() if known.name != "name"}
    return ExpandedLayer(found.layer, replace(found.origin, changes={**found.origin.changes, **changed}))


def _set_fields(target: Any, change: Any) -> None:
    """Set the fields of ``change``, except its name, in ``target``: lists as a whole, blocks field by field."""
    for known, value in change.ListFields():
        if is_repeated(known):
            target.ClearField(known.name)
            getattr(target, known.name).extend(value)
        elif known.message_type:
            getattr(target, known.name).SetInParent()
            _set_fields(getattr(target, known.name), value)
        elif (known.name, type(change)) != ("name", LayerProto):
            setattr(target, known.name, value)


__all__ = ["Expansion", "Origin", "expand_blocks"]
