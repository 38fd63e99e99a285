"""Positions of a job's fields in its text, found in a second pass that runs only when an error needs one.

protobuf's text parser reports the positions of syntax errors only; these are the positions of valid fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from google.protobuf import text_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from netpart.errors import FieldPath, Position
from netpart.proto.fields import is_repeated


class Token(NamedTuple):
    """A token of protobuf text; line and column count from 1."""

    text: str
    line: int
    column: int


END = Token("", 0, 0)


def tokenize_text(text: str, comments: bool = False) -> Iterator[Token]:
    """Yield the tokens of ``text``. With ``comments`` each comment is a token, else they are skipped.

    Text that is not valid yields some tokens and raises no error.
    """
    tokenizer = text_format.Tokenizer(text.split("\n"), skip_comments=not comments)
    while not tokenizer.AtEnd():
        token = tokenizer.token
        tokenizer.NextToken()
        # The tokenizer gives its position only through the errors that it makes (typeshed wants a Message for them).
        # ParseErrorPreviousToken, and not ParseError: that would quote the line, which may be as long as the text.
        place = cast(Any, tokenizer).ParseErrorPreviousToken("")
        yield Token(token, place.GetLine(), place.GetColumn())


def field_positions(text: str, file: str, root: Descriptor) -> dict[FieldPath, Position]:
    """Positions of all fields of ``text``, a valid message of type ``root``, by their paths.

    A field's position is that of its name; an element of a list ``[a, b]`` has its own. A repeated field is
    listed with its index, ``("neuralnet", "layer", 3)``, and without, at its first element. An extension's name
    is written as in the text, ``"[package.name]"``.
    """
    locator = _Locator(text, file)
    locator.block((), root)
    return locator.found


def value_paths(text: str, root: Descriptor) -> dict[tuple[int, int], FieldPath]:
    """The path of the field whose value begins at a line and column, for all fields of ``text`` that hold one value."""
    locator = _Locator(text, "")
    locator.block((), root)
    return locator.values


class _Locator:
    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.found: dict[FieldPath, Position] = {}
        self.values: dict[tuple[int, int], FieldPath] = {}
        self.stream = tokenize_text(text)
        self.token = next(self.stream, END)

    def take(self) -> Token:
        token = self.token
        self.token = next(self.stream, END)
        return token

    def accept(self, *texts: str) -> bool:
        found = self.token.text in texts
        if found:
            self.take()
        return found

    def block(self, path: FieldPath, descriptor: Descriptor) -> None:
        """Read fields up to the closing bracket or the end of the text."""
        counts: Counter[str] = Counter()
        while self.token is not END and not self.accept("}", ">"):
            self.field(path, descriptor, counts)

    def field(self, path: FieldPath, descriptor: Descriptor, counts: Counter[str]) -> None:
        start = self.token
        name, field = self.name(descriptor)
        self.accept(":")
        if is_repeated(field) and self.accept("["):
            while not self.accept("]"):
                self.element(path, name, field, counts, self.token)
                self.accept(",")
        elif is_repeated(field):
            self.element(path, name, field, counts, start)
        else:
            self.value((*path, name), field, start)
        self.accept(",", ";")

    def name(self, descriptor: Descriptor) -> tuple[str, FieldDescriptor]:
        if not self.accept("["):
            name = self.take().text
            return name, descriptor.fields_by_name[name]
        name = ""
        while not self.accept("]"):
            name += self.take().text
        return f"[{name}]", descriptor.file.pool.FindExtensionByName(name)

    def element(self, path: FieldPath, name: str, field: FieldDescriptor, counts: Counter[str], start: Token) -> None:
        self.mark((*path, name), start)
        self.value((*path, name, counts[name]), field, start)
        counts[name] += 1

    def value(self, path: FieldPath, field: FieldDescriptor, start: Token) -> None:
        self.mark(path, start)
        if self.accept("{", "<"):
            if field.message_type:
                self.block(path, field.message_type)
            return
        self.values[self.token.line, self.token.column] = path
        # Adjacent strings are one value, as in C.
        adjacent = self.take().text.startswith(('"', "'"))
        while adjacent and self.token.text.startswith(('"', "'")):
            self.take()

    def mark(self, path: FieldPath, start: Token) -> None:
        # setdefault: a repeated field without its index keeps the position of its first element.
        self.found.setdefault(path, Position(self.file, start.line, start.column))
