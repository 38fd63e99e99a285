"""Blocks: what a function of Python adds to a list of layers, written once, and all blocks that a net knows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from netpart.builder.caller import CallerPosition
from netpart.builder.layer_list import LayerHandle, LayerList
from netpart.builder.named_value import NamedValue
from netpart.builder.text_notes import TextNotes
from netpart.errors import ConfigError
from netpart.proto.job_pb2 import LayerBlockProto, LetProto


@dataclass
class TracedBlock:
    """A block and the notes of its text; ``places`` are the lines of the program that have added its layers."""

    message: LayerBlockProto
    notes: TextNotes
    places: list[CallerPosition] = field(compare=False)


@dataclass
class KnownBlocks:
    """The blocks of a net: its ``own``, and those of ``included`` files."""

    own: list[TracedBlock] = field(default_factory=list)
    included: list[TracedBlock] = field(default_factory=list)

    @property
    def all(self) -> list[TracedBlock]:
        """Both."""
        return [*self.included, *self.own]

    def keep(self, made: TracedBlock) -> LayerBlockProto:
        """The block equal to ``made``, or ``made`` as a new one; a number is added to its name if another has it."""
        stem = made.message.name
        for number in count(1):
            made.message.name = stem if number == 1 else f"{stem}{number}"
            known = next((each for each in self.all if each.message.name == made.message.name), None)
            if known is None:
                self.own.append(made)
            if known in (None, made):
                break
        return made.message


def trace_block(
    inside: LayerList, block: Callable[..., Any], title: str | None, inputs: int, values: Mapping[str, Any]
) -> TracedBlock:
    """The block that ``block`` makes when it adds layers to ``inside``.

    It is called with handles for its first ``inputs`` arguments, and with placeholders for those called as ``values``.
    ``title`` is the name of the block (None: that of the function). Raises ConfigError for wrong arguments and results.
    """
    who = title or getattr(block, "__name__", "") or getattr(block, "func", block).__name__
    names = list(inspect.signature(block).parameters)[1 : 1 + inputs]
    _check_arguments(block, who, inputs, values)
    inside.names |= set(names)
    last = block(inside, *(LayerHandle(name, inside) for name in names), **{name: NamedValue(name) for name in values})
    outputs = [_output_name(each, inside, who) for each in (last if isinstance(last, tuple) else [last])]
    lets = [LetProto(name=name) for name in values]
    made = LayerBlockProto(name=who, input=names, output=outputs, let=lets, layer=inside.layers)
    return TracedBlock(made, inside.notes, inside.places)


def _check_arguments(block: Callable[..., Any], who: str, inputs: int, values: Mapping[str, Any]) -> None:
    """Raise ConfigError unless ``block`` takes a list of layers, so many inputs, and ``values``."""
    signature = inspect.signature(block)
    try:
        signature.bind(None, *[None] * inputs, **values)
    except TypeError as error:
        got = f"{inputs} inputs" + (f" and values for {', '.join(values)}" if values else "")
        hint = f"{error}; give each argument after the first a layer, or a value by its name"
        raise ConfigError(who, f"arguments of {who}{signature}", got, hint) from None


def _output_name(handle: object, inside: LayerList, who: str) -> str:
    """The name of an output. Raises ConfigError for what is no layer of the block."""
    if not isinstance(handle, LayerHandle) or handle.owner is not inside:
        hint = "return the layer, or a tuple of layers, that others may read"
        raise ConfigError(who, "a layer of the block as its result", repr(handle), hint)
    return handle.name


def output_names(outputs: Sequence[str], instance: str) -> list[str]:
    """The names of the outputs of an instance, where it is read."""
    own = "${instance}"
    return [name.replace(own, instance) if own in name else f"{instance}-{name}" for name in outputs]
