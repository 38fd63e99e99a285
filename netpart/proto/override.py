"""Overrides of ``--set``: changes to fields of a job after it is read.

fc1.partition_dim=0                     a layer's field (of every layer of that name)
data@test.store_conf.path=digits.bin    the layer of that name in one phase
b*-query.partition_dim=1                all layers whose name the pattern matches; ? stands for one character
b7.location=2                           all layers of that instance of a block, or of all instances of a layer kBlock
updater.learning_rate.base_lr=0.1       a field of the job
conv1.location=0,1,2                    a repeated field: replaces all elements
fc1.param[0].init.std=0.1               one element; the index after the last adds an element
conv1.partition_dim=                    without a value: clears the field, list, element or block
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from netpart.errors import ConfigError, FieldPath, Position, clip_text
from netpart.proto.fields import (
    blocks_with_field,
    is_repeated,
    message_descriptor,
    message_fields,
    nearest_field_hint,
    nearest_hint,
    value_kind,
)
from netpart.proto.job_pb2 import JobProto
from netpart.proto.name_patterns import is_name_pattern, matching_names
from netpart.proto.phase import PHASE_VALUES, in_phase
from netpart.proto.synonyms import FIELDS, plain_word
from netpart.proto.values import read_value, value_hint

Instances = Mapping[str, Sequence[int]]
"""The numbers of the layers in each instance of a block, by its name."""
WRITTEN_OUT = {"NetProto": ("block", "let", "include"), "LayerProto": ("block_conf",)}
"""The fields by message that a job has only in its text: they are written out before overrides apply."""
_STEP = re.compile(r"(\w+)(?:\[(\d+)\])?")


class OptionPosition(Position):
    """The position of a field that an override has set: the option itself, without line and column."""

    def __str__(self) -> str:
        return clip_text(self.file)


@dataclass(frozen=True)
class OverrideTarget:
    """A message to change and its path in the JobProto."""

    message: Message
    at: FieldPath


def apply_overrides(
    job: JobProto, overrides: Iterable[str], instances: Instances | None = None
) -> dict[FieldPath, Position]:
    """Apply ``overrides`` to ``job`` in order; return the position of every field they set, by its path.

    ``instances`` has the numbers of the layers of each instance of a block. Raises ConfigError that quotes the override
    and names the nearest layers, fields or values.
    """
    changed: dict[FieldPath, Position] = {}
    for text in overrides:
        changed |= dict.fromkeys(Override(text, instances).apply(job), OptionPosition(f"--set {text}", 1, 1))
    return changed


def _inner_field_hint(message: Message, name: str) -> str:
    """A hint if blocks of ``message`` have a field ``name``: those that are set, else those that may be. Else ""."""
    known = message_fields(message)
    owners = [owner for owner in blocks_with_field(message_descriptor(message), name) if not is_repeated(known[owner])]
    owners = [owner for owner in owners if message.HasField(owner)] or owners
    return f"did you mean {' or '.join(f'{owner}.{name}' for owner in owners[:3])}?" if owners else ""


def _meant_field_hint(message: Message, name: str) -> str:
    """A hint for the unknown field ``name``: the field of ``message``, or of a block in it, with that meaning."""
    place = FIELDS.get(plain_word(name), ("", ""))[0].rpartition(".")[2]
    return (_inner_field_hint(message, place) if place else "") or nearest_field_hint(name, message_fields(message))


def _deeper_field_hint(job: JobProto, name: str) -> str:
    """A hint to deeper fields of ``job`` with this name, or with this meaning in other frameworks; else ""."""
    place, hint = FIELDS.get(plain_word(name), ("", ""))
    wanted = {name, place.rpartition(".")[2] or name}
    paths = list(dict.fromkeys(path for path in _field_paths_below(job) if path.rpartition(".")[2] in wanted))
    if not paths and place and "data." not in place:
        paths = [place]
    if not paths:
        return hint
    return f"did you mean {' or '.join(paths[:3])}?"


def _field_paths_below(job: JobProto) -> Iterator[str]:
    """The paths, as --set writes them, of the fields of every block that is set in ``job``."""
    # The list grows while it is iterated: a breadth-first walk, so that shallow fields come first in hints.
    blocks: list[tuple[str, Message]] = [("", job)]
    for prefix, block in blocks:
        yield from (prefix + name for name, field in message_fields(block).items() if not field.message_type)
        for field, value in block.ListFields():
            if isinstance(value, Message):
                blocks.append((f"{prefix}{field.name}.", value))
            elif field.name == "layer" and field.message_type:
                blocks += [(f"{layer.name}.", layer) for layer in value]


class Override:
    """One override, ``TARGET.FIELD=VALUE``."""

    def __init__(self, text: str, instances: Instances | None = None) -> None:
        self.text = text
        self.instances = instances or {}
        self.target, self.equals, self.value = (part.strip() for part in text.partition("="))

    def make_error(self, expected: str, got: str, hint: str = "") -> ConfigError:
        return ConfigError(f"--set {self.text}", expected, got, hint)

    def apply(self, job: JobProto) -> list[FieldPath]:
        """Set the field in every message that the target names; return the paths that were set or added."""
        if not self.equals:
            raise self.make_error("TARGET.FIELD=VALUE", repr(self.text), "e.g. --set fc1.partition_dim=0")
        targets, steps = self.resolve(job)
        return [path for target in targets for path in self.set(target, steps)]

    def resolve(self, job: JobProto) -> tuple[list[OverrideTarget], list[str]]:
        """The layers that the override begins with, or else the job; and the steps from there to the field."""
        layers = _layers_by_key(job)
        _add_instances(layers, job, self.instances)
        named = [key for key in layers if self.target.startswith(f"{key}.")]
        first = re.split(r"[.\[]", self.target)[0]
        if named:
            key = max(named, key=len)  # names may contain points: of "a" and "a.b" the longer one is meant
            self.check_clash(key, layers[key])
            return layers[key], self.target[len(key) + 1 :].split(".")
        if pattern := self.pattern(layers):
            chosen = [target for key in matching_names(pattern, layers) for target in layers[key]]
            return list({target.at: target for target in chosen}.values()), self.target[len(pattern) + 1 :].split(".")
        if first in message_fields(JobProto):
            return [OverrideTarget(job, ())], self.target.split(".")
        raise self.unknown_target(first, layers, job)

    def pattern(self, layers: Iterable[str]) -> str:
        """The longest prefix of the target that matches the name of one of ``layers``, or "" if no prefix does."""
        ends = [k for k, character in enumerate(self.target) if character == "."]
        beginnings = (self.target[:end] for end in reversed(ends))
        return next((text for text in beginnings if is_name_pattern(text) and matching_names(text, layers)), "")

    def check_clash(self, key: str, layers: list[OverrideTarget]) -> None:
        if key in message_fields(JobProto):
            number = layers[0].at[-1]
            hint = f"for the layer write neuralnet.layer[{number}], or rename it"
            raise self.make_error("a layer or a field of the job", f"{key!r}, which is both", hint)

    def unknown_target(self, first: str, layers: dict[str, list[OverrideTarget]], job: JobProto) -> ConfigError:
        if self.target in layers:
            return self.make_error("a field of the layer", "none", f"write {self.target}.FIELD=VALUE")
        keys = [key for key in layers if ("@" in key) == ("@" in first)]
        hint = _deeper_field_hint(job, first) or nearest_hint(first, [*keys, *message_fields(JobProto)])
        return self.make_error("a layer or a field of the job", repr(first), hint)

    def set(self, target: OverrideTarget, steps: list[str]) -> list[FieldPath]:
        """Walk ``steps`` from ``target`` and set or clear the last field; return the paths that were set or added."""
        paths: list[FieldPath] = []
        for step in steps[:-1]:
            target = self.descend(target, *self.step(target, step), paths)
        field, index = self.step(target, steps[-1])
        if not self.value:
            return [self.clear(target, field, index)]
        if field.message_type:
            hint = f"go on with one of its fields: {', '.join(field.message_type.fields_by_name)}"
            raise self.make_error("a field that holds a value", f"{field.name}, a block", hint)
        paths.append(self.assign(target, field, index))
        return paths

    def step(self, target: OverrideTarget, step: str) -> tuple[FieldDescriptor, int | None]:
        """Parse ``name`` or ``name[index]`` as a field of the target. Raises ConfigError."""
        found = _STEP.fullmatch(step)
        known = message_fields(target.message)
        name = found[1] if found else step
        if not found or name not in known:
            expected = f"a field of {message_descriptor(target.message).name}"
            raise self.make_error(
                expected, repr(step), _inner_field_hint(target.message, name) or _meant_field_hint(target.message, name)
            )
        if name in WRITTEN_OUT.get(message_descriptor(target.message).name, ()):
            hint = (
                "options apply to the net that is written out: set fields of its layers, as netpart expand shows them"
            )
            raise self.make_error("a field of a job without blocks", name, hint)
        index = int(found[2]) if found[2] else None
        if index is not None:
            self.check_index(target, known[name], index)
        return known[name], index

    def check_index(self, target: OverrideTarget, field: FieldDescriptor, index: int) -> None:
        if not is_repeated(field):
            raise self.make_error(f"{field.name} without an index", f"[{index}]", f"{field.name} has one value")
        count = len(getattr(target.message, field.name))
        most = count if self.value else count - 1  # setting may add one element, clearing needs one that exists
        if index > most:
            expected = f"an index up to {most}" if most >= 0 else "an element that exists"
            raise self.make_error(expected, f"[{index}]", f"{field.name} has {count} elements")

    def descend(
        self, target: OverrideTarget, field: FieldDescriptor, index: int | None, paths: list[FieldPath]
    ) -> OverrideTarget:
        """The block in ``field`` of the target. The index after the last adds an element, and its path to ``paths``."""
        if not field.message_type:
            raise self.make_error("a block", f"{field.name}, which holds {value_kind(field)}", f"stop at {field.name}")
        child = getattr(target.message, field.name)
        if not is_repeated(field):
            return OverrideTarget(child, (*target.at, field.name))
        if index is None:
            raise self.make_error(f"{field.name}[INDEX]", field.name, f"there are {len(child)}, counted from 0")
        at = (*target.at, field.name, index)
        if index == len(child):
            child.add()
            paths.append(at)
        return OverrideTarget(child[index], at)

    def clear(self, target: OverrideTarget, field: FieldDescriptor, index: int | None) -> FieldPath:
        """Reset the field to unset, or remove the element from its list; return the field's path."""
        at: FieldPath = (*target.at, field.name)
        if index is not None:
            del getattr(target.message, field.name)[index]
        elif field in (known for known, _ in target.message.ListFields()):
            # Only a field that is set: ClearField would otherwise mark the blocks around it as present.
            target.message.ClearField(cast(Any, field.name))
        return at

    def assign(self, target: OverrideTarget, field: FieldDescriptor, index: int | None) -> FieldPath:
        at: FieldPath = (*target.at, field.name)
        if not is_repeated(field):
            setattr(target.message, field.name, self.read(field, self.value))
            return at
        elements = getattr(target.message, field.name)
        if index is None:
            if self.value[:1] in ("[", "(", "{"):
                plain_list = self.value.strip("[](){} ")
                raise self.make_error("a list without brackets", repr(self.value), f"write {field.name}={plain_list}")
            elements[:] = [self.read(field, v.strip()) for v in self.value.split(",")]
            return at
        # A slice, since for the index after the last it appends.
        elements[index : index + 1] = [self.read(field, self.value)]
        return (*at, index)

    def read(self, field: FieldDescriptor, value: str) -> Any:
        try:
            return read_value(field, value)
        except ValueError:
            raise self.make_error(value_kind(field), repr(value), value_hint(field, value)) from None


def _add_instances(found: dict[str, list[OverrideTarget]], job: JobProto, instances: Instances) -> None:
    """Add the layers of each of ``instances``, by its name and by ``name@phase``; a layer of that name comes first."""
    for name, numbers in instances.items():
        chosen = [OverrideTarget(job.neuralnet.layer[n], ("neuralnet", "layer", n)) for n in numbers]
        for phase in PHASE_VALUES:
            found.setdefault(f"{name}@{phase}", [t for t in chosen if in_phase(cast(Any, t.message), phase, t.at)])
        found.setdefault(name, chosen)


def _layers_by_key(job: JobProto) -> dict[str, list[OverrideTarget]]:
    """The layers by name, and by ``name@phase`` for each phase that a layer is in."""
    found: dict[str, list[OverrideTarget]] = {}
    for i, layer in enumerate(job.neuralnet.layer):
        at = ("neuralnet", "layer", i)
        phases = [f"{layer.name}@{phase}" for phase in PHASE_VALUES if in_phase(layer, phase, at)]
        for key in (layer.name, *phases):
            found.setdefault(key, []).append(OverrideTarget(layer, at))
    return found
