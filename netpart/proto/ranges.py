"""Checks of values against the limits of the language: numbers, the length of lists and strings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from netpart.errors import ConfigError, FieldPath
from netpart.proto.fields import field_meaning, is_repeated
from netpart.proto.job_pb2 import JobProto
from netpart.proto.limits import ANY, CHARACTERS, RANGES, VALUES


class LongList(NamedTuple):
    """The number of values of a list that is too long; it stands for the list itself."""

    values: int


Value = tuple[FieldDescriptor, FieldPath, Any]


def find_out_of_range(job: JobProto) -> Iterator[ConfigError]:
    """The errors for all values of ``job`` that exceed their limits (``limits.py``), with their paths."""
    for field, at, value in _block_values(job, ()):
        if isinstance(value, LongList):
            yield ConfigError(_set_path(job, at), f"at most {VALUES} values", str(value.values), "list fewer", at=at)
        elif isinstance(value, str):
            yield from _wrong_text(_set_path(job, at), at, value)
        elif not isinstance(value, bool | bytes):
            yield from _wrong_number(_set_path(job, at), field, at, value)


def _block_values(block: Message, at: FieldPath) -> Iterator[Value]:
    """Every value that is set in ``block`` and in the blocks below it, with its field and path."""
    for field, value in block.ListFields():
        here = (*at, f"[{field.full_name}]" if field.is_extension else field.name)
        if not is_repeated(field):
            yield from _values_below(field, here, value)
        elif not field.message_type and len(value) > VALUES:
            yield field, here, LongList(len(value))
        else:
            for i, element in enumerate(value):
                yield from _values_below(field, (*here, i), element)


def _values_below(field: FieldDescriptor, at: FieldPath, value: Any) -> Iterator[Value]:
    """``value`` itself, or the values of the block that it is."""
    return _block_values(value, at) if field.message_type else iter([(field, at, value)])


def _wrong_number(who: str, field: FieldDescriptor, at: FieldPath, value: float) -> Iterator[ConfigError]:
    """The error for a number out of its field's range, if it is; the hint gives the meaning of the field."""
    block = cast(Descriptor, field.containing_type)
    allowed = RANGES.get(block.name, {}).get(field.name, ANY)
    if not allowed.holds(value):
        text = field_meaning(field)
        hint = f"{field.name} is: {text}" if text else ""
        yield ConfigError(who, str(allowed), f"{value:.15g}", hint, at=at)


def _wrong_text(who: str, at: FieldPath, text: str) -> Iterator[ConfigError]:
    """The errors for a string that is too long, or that has a character of value 0, which ends a name in C."""
    if len(text) > CHARACTERS:
        yield ConfigError(who, f"at most {CHARACTERS} characters", f"{len(text)}", "shorten the text", at=at)
    if "\0" in text:
        hint = "no file has a name with it; write \\\\0 for a backslash and a 0"
        yield ConfigError(who, "text", "a character of value 0", hint, at=at)


def _set_path(job: JobProto, at: FieldPath) -> str:
    """The path ``at`` as --set writes it: ``ip.innerproduct_conf.num_output``."""
    steps: Sequence[str | int] = at
    if at[:2] == ("neuralnet", "layer") and len(at) > 3:
        index = int(at[2])
        steps = (job.neuralnet.layer[index].name or f"layer {index}", *at[3:])
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return words.removeprefix(".")
