"""Bodies: the layers of the net, or of one instance of a block, with what their names stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from netpart.errors import ConfigError, FieldPath
from netpart.proto.blocks.library import INSTANCE, BlockDefinition
from netpart.proto.blocks.template import Template, Values
from netpart.proto.fields import nearest_hint
from netpart.proto.job_pb2 import LayerProto


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

    @property
    def output_names(self) -> Mapping[str, str]:
        """The outputs by the names in the net that they are read by: their own, and that of an inner layer kBlock."""
        found = {name: name for name in self.outputs}
        for name, inner in self.members.items():
            if isinstance(inner, Outputs) and len(inner.names) == 1 and inner.names[0] in self.outputs:
                found[self.prefix + name] = inner.names[0]
        return found

    @cached_property
    def instances(self) -> Mapping[str, tuple[UseItem, Body]]:
        """The instances in this body by the beginning of the names of their layers, "b7-"."""
        uses = (item for item in self.items if isinstance(item, UseItem))
        return {self.local_name(made.prefix): (use, made) for use in uses for made in use.bodies}

    def instance_of(self, name: str) -> tuple[UseItem, Body] | None:
        """The instance to which ``name`` belongs; None if it is in none."""
        dashes = (k for k, character in enumerate(name, 1) if character == "-")
        return next((self.instances[name[:k]] for k in dashes if name[:k] in self.instances), None)

    def use_of(self, name: str) -> UseItem | None:
        """The layer kBlock whose name, with a number or not, is ``name`` or precedes the first dash of it."""
        stems = {name, name.partition("-")[0]}
        numberless = {stem.rstrip("0123456789") for stem in stems}
        uses = (item for item in self.items if isinstance(item, UseItem))
        return next((use for use in uses if use.layer.name in stems | numberless), None)

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


def unknown_name(body: Body, template: Template[Any], path: FieldPath, name: str, expected: str) -> ConfigError:
    """The error for ``name``, which no layer that may be read in ``body`` has."""
    found, owner, use = body.members.get(name), body.instance_of(name), body.use_of(name)
    if isinstance(found, Outputs):
        outputs = " or ".join(map(body.local_name, found.names)) or "no layer: its block has no output"
        hint = f"{name} has {len(found.names)} outputs: name {outputs}"
    elif owner:
        hint = _inner_name_hint(owner[0].definition, name.removeprefix(body.local_name(owner[1].prefix)))
    elif use and not use.bodies:
        hint = f"{use.layer.name} has no instance, as its times are 0"
    elif name in body.inputs:
        hint = "it is an input of the block: read what is outside there, or add a layer kSplit"
    else:
        hint = nearest_hint(name, [*body.inputs, *body.members])
    return template.error(path, expected, repr(name), hint, body.instance)


def _inner_name_hint(block: BlockDefinition, inner: str) -> str:
    """The hint for a layer of an instance that is no output: those of its block, and how to make it one."""
    outputs = ", ".join(block.message.output) or "none"
    place = block.library.source.position(block.at)
    add = f'; to read it add output: "{inner}" there' if inner in [x.name for x in block.message.layer] else ""
    return f"outputs of block {block.message.name} ({place}): {outputs}{add}"
