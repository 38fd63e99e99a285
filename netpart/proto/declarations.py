"""Declarations of the .proto files in proto/: the comment and the line of each message, field, enum and value.

The descriptors of generated code have no comments, so they are read from the files that are installed with netpart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(r"(message|enum|oneof|extend) ([\w.]+) \{")
_ENTRY = re.compile(r"(?:(?:optional|required|repeated) )?(?:[\w.]+ )?(\w+) = -?\d+\b[^;]*;(?: *// *(.*))?")


class Declaration(NamedTuple):
    """The comment of a declaration, "" if it has none, and its line, from 1."""

    comment: str
    line: int


def find_declaration(proto_file: str, full_name: str) -> Declaration | None:
    """The declaration of ``full_name`` ("netpart.LayerProto.name") in a file that a descriptor names.

    None for files that are not netpart's, such as those of layer packages.
    """
    return _file_declarations(Path(proto_file).name).get(full_name)


@cache
def _file_declarations(name: str) -> dict[str, Declaration]:
    """The declarations in one file of proto/ by their full names; none if there is no such file."""
    from netpart.resources import resource_folder

    path = resource_folder("proto") / name
    return dict(_read_declarations(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def _read_declarations(text: str) -> Iterator[tuple[str, Declaration]]:
    """Full names and declarations in the order of ``text``.

    A comment on the same line goes before the lines above, as these may be the heading of a section.
    """
    scopes = ["netpart"]
    above: list[str] = []
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if line.startswith("//"):
            above.append(line.strip("/ "))
            continue
        if block := _BLOCK.match(line):
            yield _full_name([*scopes, block[2]]), _declaration(above, number)
            scopes.append(block[2] if block[1] in ("message", "enum") else "")
        elif line == "}":
            scopes.pop()
        elif entry := _ENTRY.match(line):
            yield _full_name([*scopes, entry[1]]), _declaration([entry[2]] if entry[2] else above, number)
        above = []


def _declaration(comment: list[str], line: int) -> Declaration:
    """The declaration in ``line`` with a comment of several lines."""
    return Declaration(" ".join(" ".join(comment).split()), line)


def _full_name(scopes: list[str]) -> str:
    """The name of the innermost of ``scopes``; a oneof has no name in it."""
    return ".".join(filter(None, scopes))
