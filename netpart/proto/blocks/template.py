"""Messages of a job's text in which placeholders are filled, and errors about what is written there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

from netpart.errors import ConfigError, FieldPath, clip_text
from netpart.proto.blocks.placeholders import Hole, field_at, fill_text, set_at, text_holes
from netpart.proto.blocks.source import JobSource
from netpart.proto.fields import nearest_hint, value_kind
from netpart.proto.limits import CHARACTERS
from netpart.proto.values import read_value, value_hint

Values = Mapping[str, str]
"""The values of placeholders by their names."""
Filled = TypeVar("Filled", bound=Message)


@dataclass(frozen=True)
class Template(Generic[Filled]):
    """A layer at the path ``at`` of ``source``, or the whole job without its layers, with placeholders."""

    source: JobSource
    at: FieldPath
    message: Filled

    @cached_property
    def holes(self) -> tuple[Hole, ...]:
        """The values of the message that have placeholders."""
        size = len(self.at)
        numbers = self.source.unquoted_by_owner.get(self.at, {})
        return (*(Hole(path[size:], text) for path, text in numbers.items()), *text_holes(self.message))

    def fill(self, values: Values, instance: str = "") -> Filled:
        """A copy of the message with all placeholders filled, for ``instance``. Raises ConfigError."""
        filled = type(self.message)()
        filled.CopyFrom(self.message)
        for path, text in self.holes:
            set_at(filled, path, self._read(path, self.fill_text(text, values, path, instance), text, instance))
        return filled

    def fill_text(self, text: str, values: Values, path: FieldPath, instance: str = "") -> str:
        """``text``, which is at ``path``, with its placeholders filled. Raises ConfigError for one without a value."""
        try:
            filled = fill_text(text, values)
        except KeyError as missing:
            name = missing.args[0]
            hint = nearest_hint(name, values) or f'give it one: let {{ name: "{name}" value: "..." }}'
            raise self.error(path, "a placeholder with a value", f"${{{name}}}", hint, instance) from None
        if len(filled) > CHARACTERS:
            got = f"{len(filled)} with its placeholders filled"
            raise self.error(path, f"at most {CHARACTERS} characters", got, "shorten the values", instance)
        return filled

    def error(self, path: FieldPath, expected: str, got: str, hint: str = "", instance: str = "") -> ConfigError:
        """The error about the field ``path`` of the message, with its place and ``instance``."""
        position = self.source.position((*self.at, *path), instance)
        return ConfigError(self._label(path), expected, got, hint, position=position)

    def _label(self, path: FieldPath) -> str:
        """What an error calls the field ``path``: the layer's or block's name, and the field."""
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        name = getattr(self.message, "name", "") if self.at else ""
        return f"{name}{steps}".removeprefix(".") or "neuralnet"

    def _read(self, path: FieldPath, text: str, written: str, instance: str) -> Any:
        """The value of the field ``path`` that ``text`` is, where ``written`` is in the job."""
        field = field_at(self.message, path)
        try:
            return read_value(field, text)
        except ValueError:
            got = f"{clip_text(text)!r}, the value of {written}"
            raise self.error(path, value_kind(field), got, value_hint(field, text), instance) from None
