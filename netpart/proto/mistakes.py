"""Errors of protobuf's text parser, turned into ConfigErrors with position, expected value and next step."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.text_format import ParseError

from netpart.errors import ConfigError, FieldPath, Position
from netpart.proto.fields import (
    WHOLE,
    blocks_with_field,
    field_meaning,
    message_descriptor,
    nearest_field_hint,
    nearest_value_hint,
    value_kind,
)
from netpart.proto.job_pb2 import JobProto
from netpart.proto.positions import END, Token, tokenize_text

_UNKNOWN_FIELD = re.compile(r'has no field named "([^"]*)"')
_EXTENSION = re.compile(r'^Extension "([^"]*)" not registered')
_TWICE = re.compile(r'should not have multiple "([^"]*)"')
_BOTH = re.compile(r'Field "([^"]*)" is specified along with field "([^"]*)"')
_UNCLOSED = re.compile(r'Expected "[}>]"')
_EXPECTED = re.compile(r"Expected (.*?)(, got .*)?\.?$")
_DIGITS = re.compile(r"[-+]?(\d+|0[xX][0-9a-fA-F]+)")
_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMGT])i?(?:B|[Ff][Ll][Oo][Pp][Ss]?)?")
POWERS = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
TYPOGRAPHIC = "“”„‟‘’‚‛«»"
"""Quotation marks of word processors and web pages, which are not quotes in protobuf text."""
_PREFIX = re.compile(r"^\d+:\d+ : ('.*': )?", re.DOTALL)


@dataclass
class OpenBlock:
    """A block that is open at the error.

    ``label`` is the layer's name if it has been read, else ``name``. ``bracket`` is the ``[`` of a list in the block
    that is not closed yet, END if all are closed.
    """

    name: str
    descriptor: Descriptor | None
    line: int
    column: int
    label: str
    bracket: Token = END


@dataclass
class ErrorContext:
    """The surroundings of an error: the open blocks, outermost first, the token there, the one before it, and the token
    that names the current field."""

    blocks: list[OpenBlock]
    token: Token = END
    previous: Token = END
    name: Token = END

    @property
    def inner(self) -> OpenBlock:
        return self.blocks[-1]

    @property
    def field(self) -> FieldDescriptor | None:
        """The field whose value is at the error."""
        return self.inner.descriptor.fields_by_name.get(self.name.text) if self.inner.descriptor else None

    def path_text(self, *fields: str) -> str:
        """The path of the error as --set writes it, e.g. ``conv1.convolution_conf.kernel``."""
        # It begins at the innermost layer whose name is known, else below the job.
        named = [k for k, block in enumerate(self.blocks) if block.label != block.name]
        labels = [block.label for block in self.blocks[named[-1] if named else 1 :]]
        return ".".join([*labels, *fields]) or "job"


def diagnose_error(error: ParseError, text: str, file: str) -> ConfigError:
    """The ConfigError for ``error``, which was raised while parsing ``text`` as a JobProto."""
    message = _PREFIX.sub("", str(error))
    line = error.GetLine() or 1
    column = error.GetColumn() or 1
    place = find_error_context(text, line, column)
    # protobuf reports an unclosed block at the end of the text. The useful position is that of its opening bracket.
    if _UNCLOSED.match(message):
        place = find_error_context(text, inf, inf)
        line = place.inner.line
        column = place.inner.column
    made = _explain_mistake(place, message)
    made.position = Position(file, line, column)
    return made


def find_error_context(text: str, line: float, column: float) -> ErrorContext:
    """Read ``text`` up to a line and column and return the context there."""
    place = ErrorContext([OpenBlock("", message_descriptor(JobProto), 1, 1, "")])
    known = tokenize_text(text)
    for place.token in known:
        if (place.token.line, place.token.column) >= (line, column):
            place.token = _dotted_token(place, known)
            return place
        _follow_token(place, place.token)
        place.previous = place.token
    place.token = END
    return place


def fields_at(text: str, places: Container[tuple[int, int]]) -> dict[tuple[int, int], FieldDescriptor | None]:
    """The field whose value begins at each of ``places``, line and column; None where none is known."""
    found: dict[tuple[int, int], FieldDescriptor | None] = {}
    context = ErrorContext([OpenBlock("", message_descriptor(JobProto), 1, 1, "")])
    for token in tokenize_text(text):
        if (token.line, token.column) in places:
            found[token.line, token.column] = context.field
        _follow_token(context, token)
        context.previous = token
    return found


def _dotted_token(place: ErrorContext, rest: Iterator[Token]) -> Token:
    """The token of ``place``. A value with points in it, such as nn.Linear, is joined to one token."""
    token = place.token
    while place.previous.text == ":" and token.text[:1].isalpha() and next(rest, END).text == ".":
        token = Token(f"{token.text}.{next(rest, END).text}", token.line, token.column)
    return token


def _follow_token(place: ErrorContext, token: Token) -> None:
    """Update ``place`` by one token: field names, brackets and the names of layers."""
    if token.text in (":", "{", "<") and place.previous.text.isidentifier():
        place.name = place.previous
    if token.text in ("[", "]"):
        place.inner.bracket = token if token.text == "[" and place.previous.text == ":" else END
    if token.text in ("{", "<"):
        name = place.name
        field = place.field
        inner = field.message_type if field else None
        place.blocks.append(OpenBlock(name.text, inner, name.line, name.column, name.text))
    elif token.text in ("}", ">") and len(place.blocks) > 1:
        closed = place.blocks.pop()
        # The block is the last field that was read, as its value ends here.
        place.name = Token(closed.name, closed.line, closed.column)
    elif place.inner.name == "layer" and place.name.text == "name" and token.text[:1] in ('"', "'"):
        place.inner.label = token.text.strip("\"'")


def _explain_mistake(place: ErrorContext, message: str) -> ConfigError:
    """The error for a mistake at ``place``, for which protobuf's message is ``message``."""
    # The order matters: protobuf's own findings are precise; the guesses from the tokens below are not.
    if found := _UNKNOWN_FIELD.search(message):
        return _unknown_field(place, found[1])
    if found := _EXTENSION.match(message):
        return _unknown_extension(place, found[1])
    if found := _TWICE.search(message):
        return ConfigError(place.path_text(), f"one {found[1]}", "a second one", "remove one of them")
    if found := _BOTH.search(message):
        return ConfigError(place.path_text(), f"{found[2]} or {found[1]}", "both", "remove one of them")
    if _UNCLOSED.match(message):
        return ConfigError(
            place.path_text(), "} or > that closes the block opened here", "the end of the file", "add it"
        )
    if place.inner.bracket is not END and place.previous.text not in ("[", ","):
        return _unclosed_list(place)
    if place.token.text in ("}", ">"):
        return _wrong_bracket(place)
    if place.field and place.previous.text in (":", "[", ","):
        return _wrong_value(place, place.field, message)
    if place.token.text == "{" and place.previous.text == "device" and len(place.blocks) == 1:
        hint = "devices stand in cluster: cluster { device { ... } }"
        return ConfigError("device", "a string, where kernels run", "a block", hint)
    if place.token.text == "/":
        return ConfigError(place.path_text(), "a field", "'/'", "comments begin with #")
    expected = _EXPECTED.match(message)
    got = repr(place.token.text) if expected else message.split(". ")[0]
    hint = "a field is written name: value, or name { ... }"
    return ConfigError(place.path_text(), expected[1] if expected else "protobuf text", got, hint)


def _unknown_field(place: ErrorContext, name: str) -> ConfigError:
    """The error for a field that its block does not have. The hint names an outer or inner block that has it."""
    block = place.inner
    known = place.inner.descriptor.fields_by_name if place.inner.descriptor else {}
    expected = f"a field of {block.descriptor.name}" if block.descriptor else "a field"
    # "base_lr: 0,05" reads as base_lr: 0 and then, after a separating comma, a field called 05.
    if name.isdigit() and place.previous.text == ",":
        hint = f"numbers have a point, not a comma: {place.name.text}: 0.{name}"
        return ConfigError(place.path_text(), expected, repr(name), hint)
    hint = outer_block_hint(place, name) or _inner_block_hint(place, name) or nearest_field_hint(name, known)
    return ConfigError(place.path_text(), expected, repr(name), hint)


def _unknown_extension(place: ErrorContext, name: str) -> ConfigError:
    """The error for an extension, ``[package.name]``, that no installed package has registered."""
    hint = "install the package whose layer it is for (docs/writing-a-layer.md), or remove it"
    return ConfigError(place.path_text(), "a field, or an extension that a package has registered", f"[{name}]", hint)


def outer_block_hint(place: ErrorContext, name: str) -> str:
    """A hint if an outer block has a field ``name``: then the inner block was probably not closed. Else ""."""
    for outer in reversed(place.blocks[:-1]):
        if outer.descriptor and name in outer.descriptor.fields_by_name:
            owner = f"{outer.name!r}" if outer.name else "the job"
            inner = place.inner
            return f"{name!r} is a field of {owner}: close the {inner.name!r} block opened at line {inner.line} first"
    return ""


def _inner_block_hint(place: ErrorContext, name: str) -> str:
    """A hint if a block that is allowed here has a field ``name``, else ""."""
    owners = blocks_with_field(place.inner.descriptor, name) if place.inner.descriptor else []
    where = f"{owners[0]} {{ {name} ... }}" if len(owners) == 1 else "it in that block"
    return f"{name!r} is a field of {' or '.join(owners)}: write {where}" if owners else ""


def _unclosed_list(place: ErrorContext) -> ConfigError:
    """The error for a list with an element that neither a comma nor the closing bracket follows."""
    got = "the end of the file" if place.token is END else repr(place.token.text)
    hint = f"a list is written {place.name.text}: [1, 2]"
    return ConfigError(
        place.path_text(place.name.text), f", or ] that closes the list of line {place.inner.bracket.line}", got, hint
    )


def _wrong_bracket(place: ErrorContext) -> ConfigError:
    """The error for a closing bracket without an opening one, or of another kind than the opening one."""
    if len(place.blocks) == 1:
        return ConfigError("job", "a field or the end of the file", repr(place.token.text), "remove this bracket")
    got = f"{place.token.text!r} (the block opens at line {place.inner.line})"
    return ConfigError(
        place.path_text(), "a field, or the bracket that closes the block", got, "{ closes with }, < with >"
    )


def _wrong_value(place: ErrorContext, field: FieldDescriptor, message: str) -> ConfigError:
    """The error for a value that its field cannot have."""
    got = place.token.text
    who = place.path_text(field.name)
    if place.token is END:
        return ConfigError(who, value_kind(field), "the end of the file", f"write a value after {field.name}")
    if field.cpp_type != FieldDescriptor.CPPTYPE_STRING and not field.message_type and got[0] in ('"', "'"):
        unit = _UNIT.fullmatch(got[1:-1])
        plain_hint = f"write it without quotes: {field.name}: {got[1:-1]}"
        return ConfigError(who, value_kind(field), got, number_hint(field.name, got) if unit else plain_hint)
    if field.enum_type:
        return ConfigError(who, value_kind(field), got, nearest_value_hint(field, got.rpartition(".")[2]))
    if field.cpp_type in WHOLE and not _DIGITS.fullmatch(got):
        return ConfigError(
            who, value_kind(field), got, "; ".join(filter(None, (_digits_hint(field), meaning_hint(field))))
        )
    if field.message_type:
        return ConfigError(who, value_kind(field), got, _block_hint(field))
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING and got[0] in TYPOGRAPHIC:
        return ConfigError(who, value_kind(field), got, f'write it with straight quotes: {field.name}: "..."')
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING and got[0] not in ('"', "'"):
        return ConfigError(who, value_kind(field), got, f'put it in quotes: {field.name}: "{got}"')
    return ConfigError(who, value_kind(field), got, _other_value_hint(field, got))


def _other_value_hint(field: FieldDescriptor, got: str) -> str:
    """The hint for a wrong number, truth value or string: how to write one, or what the field means."""
    if field.cpp_type in WHOLE:
        return meaning_hint(field)
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return f"write {field.name}: true, or {field.name}: false"
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return f'write it on one line between quotes: {field.name}: "..."'
    return number_hint(field.name, got)


def number_hint(name: str, got: str, equals: str = ": ") -> str:
    """The hint for a wrong number: digits, without a unit. A unit in ``got`` is converted as a power of ten."""
    found = _UNIT.fullmatch(got.strip("\"'"))
    if not found:
        return f"write it in digits, as in {name}{equals}0.1"
    value = f"{float(found[1]) * POWERS[found[2].upper()]:g}".replace("e+", "e").replace("e0", "e")
    return f"a number has no unit: write {value}"


def _digits_hint(field: FieldDescriptor) -> str:
    """The hint for a wrong whole number: digits. None for partition_dim, where 10 would be a wrong example."""
    return f"write it in digits, as in {field.name}: 10" if field.name != "partition_dim" else ""


def meaning_hint(field: FieldDescriptor) -> str:
    """A hint with the meaning of a field, "" if it has no comment in proto/."""
    return f"{field.name} is: {text}" if (text := field_meaning(field)) else ""


def _block_hint(field: FieldDescriptor) -> str:
    """The hint for a value in place of a block: how to write the block."""
    examples = {
        "learning_rate": "type: kFixed base_lr: 0.05",
        "init": "type: kUniformSqrtFanIn",
        "updater": "type: kSGD",
    }
    return f"write {field.name} {{ {examples.get(field.name, '...')} }}"


def is_extension_error(error: ParseError) -> bool:
    """True if ``error`` is about an extension that no package has registered."""
    return bool(_EXTENSION.match(_PREFIX.sub("", str(error))))


def missing_fields(job: JobProto) -> list[ConfigError]:
    """The errors for the required fields that are not set in ``job``."""
    return [_missing_field(job, _field_path(path)) for path in cast(Any, job).FindInitializationErrors()]


def _missing_field(job: JobProto, path: FieldPath) -> ConfigError:
    """The error for the missing required field ``path``; it names the block or the layer that lacks it."""
    block = ".".join(str(step) for step in path[:-1] if isinstance(step, str))
    who = _layer_label(job, path) if path[:2] == ("neuralnet", "layer") else block
    return ConfigError(who, f"{path[-1]} in {block}", "none", f"add {path[-1]}: ...", at=path)


def _layer_label(job: JobProto, path: FieldPath) -> str:
    """The name of the layer on ``path``, or its number if it has no name."""
    index = int(path[2])
    return job.neuralnet.layer[index].name or f"layer {index}"


def _field_path(text: str) -> FieldPath:
    """Convert protobuf's ``neuralnet.layer[3].(package.name).x`` to a FieldPath."""
    steps = re.findall(r"\([^)]*\)|\w+", text)
    return tuple(int(s) if s.isdigit() else s.replace("(", "[").replace(")", "]") for s in steps)
