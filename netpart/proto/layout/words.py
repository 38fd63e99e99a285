"""The words of protobuf text by the part that each has in it, comments included; no field needs to be known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

from netpart.proto.positions import Token, tokenize_text


class Role(Enum):
    """The part of a word in the text."""

    NAME = auto()
    VALUE = auto()
    ELEMENT = auto()
    """A value in a list."""
    NEXT_STRING = auto()
    """A string after a string, which together are one value."""
    OPEN_BLOCK = auto()
    CLOSE_BLOCK = auto()
    OPEN_LIST = auto()
    CLOSE_LIST = auto()
    COMMENT = auto()


OPENERS = (Role.OPEN_BLOCK, Role.OPEN_LIST)
CLOSERS = (Role.CLOSE_BLOCK, Role.CLOSE_LIST)


class Word(NamedTuple):
    """A word as it is written anew; ``line`` and ``column``, from 1, are those of the source."""

    text: str
    role: Role
    line: int
    column: int

    @property
    def opens(self) -> bool:
        """True for the bracket at the beginning of a block or list."""
        return self.role in OPENERS

    @property
    def closes(self) -> bool:
        """True for the bracket at the end of a block or list."""
        return self.role in CLOSERS


def read_words(text: str) -> list[Word]:
    """The words of ``text``, which is valid protobuf text, in order.

    A name has its colon, an element of a list its comma. Separators between fields are left out, ``<`` and ``>`` are
    braces, and strings are in double quotes where they read the same in them.
    """
    return _WordReader(text).words


class _WordReader:
    """Reads all words of a text; ``opened`` are the brackets around the present one, and ``last`` is the index of the
    last word that is no comment."""

    def __init__(self, text: str) -> None:
        self.words: list[Word] = []
        self.opened: list[Role] = []
        self.last = -1
        self.tokens = _joined_placeholders(list(tokenize_text(text, comments=True)))
        for token in self.tokens:
            if token.text.startswith("#"):
                self.words.append(Word(token.text.rstrip(), Role.COMMENT, token.line, token.column))
            else:
                self._read_token(token)

    @property
    def _last_role(self) -> Role:
        return self.words[self.last].role if self.last >= 0 else Role.CLOSE_BLOCK

    def _read_token(self, token: Token) -> None:
        """Add the word of ``token``, or change the one before it."""
        if token.text in ("{", "<"):
            self._open(Role.OPEN_BLOCK, token)
        elif token.text in ("}", ">"):
            self._close(Role.CLOSE_BLOCK, token)
        elif token.text == "]":
            self._close(Role.CLOSE_LIST, token)
        elif self.opened[-1:] == [Role.OPEN_LIST]:
            self._read_list_token(token)
        else:
            self._read_block_token(token)

    def _read_list_token(self, token: Token) -> None:
        """Add an element of a list, or a comma to the one before."""
        if token.text == ",":
            self._change_last(self.words[self.last].text + ",")
        else:
            self._add(self._string_role(token) or Role.ELEMENT, token)

    def _read_block_token(self, token: Token) -> None:
        """Add a name or a value."""
        if token.text in (":", ",", ";"):
            return
        if self._last_role is Role.NAME:
            if token.text == "[":
                self._open(Role.OPEN_LIST, token)
            else:
                self._change_last(self.words[self.last].text + ":")
                self._add(Role.VALUE, token)
        elif token.text == "[":
            self._read_extension(token)
        else:
            self._add(self._string_role(token) or Role.NAME, token)

    def _read_extension(self, token: Token) -> None:
        """Add the name of an extension, ``[package.name]``; comments within it follow it."""
        text, comments = token.text, list[Token]()
        while not text.endswith("]"):
            token = next(self.tokens)
            if token.text.startswith("#"):
                comments.append(token)
            else:
                text += token.text
        self._add(Role.NAME, token._replace(text=text))
        self.words += [Word(note.text.rstrip(), Role.COMMENT, note.line, note.column) for note in comments]

    def _open(self, role: Role, token: Token) -> None:
        if role is Role.OPEN_LIST:
            self._change_last(self.words[self.last].text + ":")
        self.opened.append(role)
        self._add(role, token._replace(text="{" if role is Role.OPEN_BLOCK else "["))

    def _close(self, role: Role, token: Token) -> None:
        self.opened.pop()
        self._add(role, token._replace(text="}" if role is Role.CLOSE_BLOCK else "]"))

    def _add(self, role: Role, token: Token) -> None:
        self.last = len(self.words)
        self.words.append(Word(_double_quoted(token.text), role, token.line, token.column))

    def _change_last(self, text: str) -> None:
        self.words[self.last] = self.words[self.last]._replace(text=text)

    def _string_role(self, token: Token) -> Role | None:
        """The role of a string that follows another one, as in C; None for any other word."""
        before = self.words[self.last].text if self.last >= 0 else ""
        return Role.NEXT_STRING if token.text[0] in "\"'" and before.endswith(('"', "'")) else None


def _joined_placeholders(tokens: Sequence[Token]) -> Iterator[Token]:
    """``tokens`` with each ``${name}`` as one."""
    at = 0
    while at < len(tokens):
        run = [token.text for token in tokens[at : at + 4]]
        joins = run[:2] == ["$", "{"] and run[3:] == ["}"]
        yield tokens[at]._replace(text="".join(run)) if joins else tokens[at]
        at += 4 if joins else 1


def _double_quoted(text: str) -> str:
    """A string in double quotes, if it has nothing that these would change; any other word as it is."""
    return f'"{text[1:-1]}"' if text[0] == "'" and not {'"', "\\"} & set(text) else text
