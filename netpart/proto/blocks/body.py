"""Bodies: the layers of the net, or of one instance of a block, with what their names stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from netpart.errors import ConfigError, FieldPath
from netpart.proto.blocks.library import INSTANCE, BlockDefinition, Library, check_value_name
from netpart.proto.blocks.template import Template, Values
from netpart.proto.fields import nearest_hint
from netpart.proto.job_pb2 import LayerProto, LayerType
from netpart.proto.limits import BLOCK_DEPTH, EXPANDED_BYTES, EXPANDED_LAYERS

OF_KBLOCK = {"name", "type", "srclayers", "block_conf"}
"""The fields that a layer kBlock may have."""


@dataclass(frozen=True)
class LayerItem:
    """A layer with its placeholders filled; ``name`` is its name in the net."""

    template: Template[LayerProto]
    layer: LayerProto
    name: str


@dataclass(frozen=True)
class UseItem:
    """A layer kBlock with its placeholders filled, and the instances that it makes; ``name`` is its name in the net."""

    template: Template[LayerProto]
    layer: LayerProto
    name: str
    definition: BlockDefinition
    bodies: list[Body] = field(default_factory=list)


@dataclass(frozen=True)
class Outputs:
    """What the name of an instance, or of a layer kBlock, stands for: the outputs of an instance in the net."""

    names: tuple[str, ...]


@dataclass
class Body:
    """The layers of the net or of the instance ``instance``, in order; ``prefix`` begins their names in the net.

    Its layers may read ``inputs``, and ``members``: what these names stand for in the net.
    """

    instance: str
    prefix: str
    values: Values
    inputs: Sequence[str] = ()
    items: list[LayerItem | UseItem] = field(default_factory=list)
    members: dict[str, str | Outputs] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()

    @cached_property
    def instances(self) -> Mapping[str, tuple[UseItem, Body]]:
        """The instances in this body by the beginning of the names of their layers, "b7-"."""
        uses = (item for item in self.items if isinstance(item, UseItem))
        return {self.local_name(made.prefix): (use, made) for use in uses for made in use.bodies}

    def instance_of(self, name: str) -> tuple[UseItem, Body] | None:
        """The instance to which ``name`` belongs; None if it is in none."""
        dashes = (k for k, character in enumerate(name, 1) if character == "-")
        return next((self.instances[name[:k]] for k in dashes if name[:k] in self.instances), None)

    def full_name(self, name: str, written: str) -> str:
        """The name in the net of a layer ``name``; one ``written`` with ${instance} has it already."""
        return name if f"${{{INSTANCE}}}" in written else self.prefix + name

    def add_member(self, name: str, stands_for: str | Outputs, template: Template[LayerProto]) -> None:
        """Let ``name`` stand for a layer or for outputs. Raises ConfigError if it stands for others already."""
        other = self.members.setdefault(name, stands_for)
        single = stands_for.names if isinstance(stands_for, Outputs) else (stands_for,)
        if (other.names if isinstance(other, Outputs) else (other,)) != single:
            hint = "rename one: a layer kBlock takes its name and those of its instances"
            raise template.error(("name",), f"another name than {name}", "two that have it", hint, self.instance)

    def local_name(self, name: str) -> str:
        """The name within this body of what is called ``name`` in the net."""
        return name.removeprefix(self.prefix)


class Builder:
    """Builds bodies within the limits of a net: its layers, their bytes, and instances within one another."""

    def __init__(self) -> None:
        self.layers = 0
        self.bytes = 0

    def net_body(self, library: Library) -> Body:
        """The layers of the net itself."""
        source = library.source
        layers = [
            Template(source, ("neuralnet", "layer", k), layer) for k, layer in enumerate(source.proto.neuralnet.layer)
        ]
        body = Body("", "", library.values)
        self._add_items(body, layers, library, ())
        return body

    def _add_items(
        self, body: Body, layers: Sequence[Template[LayerProto]], library: Library, within: tuple[BlockDefinition, ...]
    ) -> None:
        """Add the layers to ``body``, which is in instances of the blocks ``within``."""
        for template in layers:
            layer = template.fill(body.values, body.instance)
            self._count(template, len(layer.SerializePartialToString()), body.instance)
            name = body.full_name(layer.name, template.message.name)
            if layer.type == LayerType.kBlock or layer.HasField("block_conf"):
                self._add_use(body, UseItem(template, layer, name, _used_block(template, layer, library, body)), within)
            else:
                body.items.append(LayerItem(template, layer, name))
                body.add_member(layer.name, name, template)

    def _add_use(self, body: Body, use: UseItem, within: tuple[BlockDefinition, ...]) -> None:
        """Add the instances that ``use`` makes, and the names by which they are read."""
        self._check_depth(body, use, within)
        values = _use_values(body, use)
        body.items.append(use)
        for name in _instance_names(use):
            made = self._instance(name, values, use.definition, (*within, use.definition))
            self._count(use.template, 0, body.instance)
            use.bodies.append(made)
            if name not in made.outputs:  # a layer named ${instance} has that name itself
                body.add_member(body.local_name(name), Outputs(made.outputs), use.template)
            for output in made.outputs:
                body.add_member(body.local_name(output), output, use.template)
        if use.layer.block_conf.HasField("times") and use.bodies:
            body.add_member(use.layer.name, Outputs(use.bodies[-1].outputs), use.template)

    def _instance(
        self, name: str, values: Values, definition: BlockDefinition, within: tuple[BlockDefinition, ...]
    ) -> Body:
        """One instance of a block."""
        made = Body(name, f"{name}-", {**values, INSTANCE: name}, definition.message.input)
        self._add_items(made, definition.layers, definition.library, within)
        for k, input_name in enumerate(definition.message.input):
            if input_name in made.members:
                hint = "rename one of them"
                raise definition.template.error(("input", k), "a name that no layer has", repr(input_name), hint, name)
        made.outputs = tuple(_output_names(made, definition))
        return made

    def _count(self, template: Template[LayerProto], size: int, instance: str) -> None:
        """Count a layer of ``size`` bytes, or an instance. Raises ConfigError if the net has too many, or bytes."""
        self.layers += 1
        self.bytes += size
        if self.layers > EXPANDED_LAYERS:
            raise template.error((), f"at most {EXPANDED_LAYERS} layers", "more", "repeat less", instance)
        if self.bytes > EXPANDED_BYTES:
            raise template.error((), f"at most {EXPANDED_BYTES >> 20} MiB of layers", "more", "repeat less", instance)

    def _check_depth(self, body: Body, use: UseItem, within: tuple[BlockDefinition, ...]) -> None:
        """Raise ConfigError for a block that uses itself, and for instances too deep within others."""
        at, limit = ("block_conf", "of"), f"at most {BLOCK_DEPTH} blocks within one another"
        if use.definition in within:
            names = [each.message.name for each in (*within[within.index(use.definition) :], use.definition)]
            hint = "a block cannot contain itself"
            raise use.template.error(at, "another block", " → ".join(names), hint, body.instance)
        if len(within) >= BLOCK_DEPTH:
            hint = "write the inner blocks out"
            raise use.template.error(at, limit, "more", hint, body.instance)


def _used_block(template: Template[LayerProto], layer: LayerProto, library: Library, body: Body) -> BlockDefinition:
    """The block that a layer kBlock uses. Raises ConfigError for fields that do not go together."""
    if layer.type != LayerType.kBlock:
        raise template.error(("block_conf",), "type: kBlock", LayerType.Name(layer.type), "", body.instance)
    wrong = [known.name for known, _ in layer.ListFields() if known.name not in OF_KBLOCK]
    if wrong:
        hint = f'set it in the layers: block_conf {{ change {{ name: "{layer.name}*" ... }} }}'
        raise template.error((wrong[0],), "a field of kBlock", wrong[0], hint, body.instance)
    return library.block(layer.block_conf.of, template, body.instance)


def _instance_names(use: UseItem) -> Iterator[str]:
    """The names of the instances in the net. Raises ConfigError for a number of them that is none."""
    conf = use.layer.block_conf
    if not conf.HasField("times"):
        yield use.name
        return
    for name, value in (("times", conf.times), ("first", conf.first)):
        if value < 0:
            raise use.template.error(("block_conf", name), "0 or more", str(value), "count the instances")
    yield from (f"{use.name}{number}" for number in range(conf.first, conf.first + conf.times))


def _use_values(body: Body, use: UseItem) -> dict[str, str]:
    """The values in the instances of ``use``: given by it, else those that hold in ``body``, else the defaults."""
    given = _given_values(body, use)
    values = {**body.values, **given}
    for k, let in enumerate(use.definition.message.let):
        check_value_name(use.definition.template, ("let", k), let)
        if let.name in values:
            continue
        if not let.HasField("value"):
            hint = f'add let {{ name: "{let.name}" value: "..." }} to its block_conf'
            raise use.template.error(("block_conf",), f"a value of {let.name}", "none", hint, body.instance)
        text = use.definition.template.fill_text(let.value, values, ("let", k, "value"), body.instance)
        values[let.name] = text
    return values


def _given_values(body: Body, use: UseItem) -> dict[str, str]:
    """The values that a layer kBlock gives. Raises ConfigError for one that its block does not take."""
    taken = [let.name for let in use.definition.message.let]
    given: dict[str, str] = {}
    for k, let in enumerate(use.layer.block_conf.let):
        if let.name not in taken:
            expected = f"a value that block {use.definition.message.name} takes"
            hint = nearest_hint(let.name, taken) or "it has no let of this name"
            raise use.template.error(("block_conf", "let", k), expected, repr(let.name), hint, body.instance)
        given[let.name] = let.value
    return given


def _output_names(body: Body, definition: BlockDefinition) -> Iterator[str]:
    """The outputs of the instance ``body`` by their names in the net. Raises ConfigError for one that it lacks."""
    for k, written in enumerate(definition.message.output):
        name = definition.template.fill_text(written, body.values, ("output", k), body.instance)
        found = body.members.get(name)
        if found is None or (isinstance(found, Outputs) and len(found.names) != 1):
            raise unknown_name(body, definition.template, ("output", k), name, "a layer of the block")
        yield found if isinstance(found, str) else found.names[0]


def unknown_name(body: Body, template: Template[Any], path: FieldPath, name: str, expected: str) -> ConfigError:
    """The error for ``name``, which no layer that may be read in ``body`` has."""
    found, owner = body.members.get(name), body.instance_of(name)
    if isinstance(found, Outputs):
        outputs = " or ".join(map(body.local_name, found.names)) or "no layer: its block has no output"
        hint = f"{name} has {len(found.names)} outputs: name {outputs}"
    elif owner:
        hint = _inner_name_hint(owner[0].definition, name.removeprefix(body.local_name(owner[1].prefix)))
    else:
        hint = nearest_hint(name, [*body.inputs, *body.members])
    return template.error(path, expected, repr(name), hint, body.instance)


def _inner_name_hint(block: BlockDefinition, inner: str) -> str:
    """The hint for a layer of an instance that is no output: those of its block, and how to make it one."""
    outputs = ", ".join(block.message.output) or "none"
    place = block.library.source.position(block.at)
    add = f'; to read it add output: "{inner}" there' if inner in [x.name for x in block.message.layer] else ""
    return f"outputs of block {block.message.name} ({place}): {outputs}{add}"
