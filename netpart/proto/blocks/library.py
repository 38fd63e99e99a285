"""The blocks that a file of a job defines, and those of the files that it includes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from netpart.errors import ConfigError, FieldPath
from netpart.proto.blocks.source import JobSource, check_required_fields, read_job_source
from netpart.proto.blocks.template import Template
from netpart.proto.fields import nearest_hint
from netpart.proto.job_files import decode_utf8, read_job_bytes
from netpart.proto.job_pb2 import JobProto, LayerBlockProto, LayerProto, LetProto
from netpart.proto.limits import BLOCK_DEPTH, INCLUDED_FILES

INSTANCE = "instance"
"""The placeholder ${instance}: the name of the instance that the layer is in."""


@dataclass(frozen=True, eq=False)
class BlockDefinition:
    """A block and the file that defines it, in which the blocks that it uses are looked up."""

    library: Library
    at: FieldPath
    message: LayerBlockProto

    @cached_property
    def template(self) -> Template[LayerBlockProto]:
        """The block, for errors about it."""
        return Template(self.library.source, self.at, self.message)

    @cached_property
    def layers(self) -> tuple[Template[LayerProto], ...]:
        """The layers of the block."""
        source = self.library.source
        return tuple(Template(source, (*self.at, "layer", k), layer) for k, layer in enumerate(self.message.layer))


@dataclass(eq=False)
class Library:
    """The blocks that the net in ``source`` may use, by name, and its values with names."""

    source: JobSource
    blocks: dict[str, BlockDefinition] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)

    @cached_property
    def job(self) -> Template[JobProto]:
        """All of the file, for errors about its net."""
        return Template(self.source, (), self.source.proto)

    def block(self, name: str, user: Template[LayerProto], instance: str) -> BlockDefinition:
        """The block ``name``, which ``user`` repeats. Raises ConfigError."""
        if name in self.blocks:
            return self.blocks[name]
        hint = nearest_hint(name, self.blocks) or "define it in the net: block { name: ... layer { ... } }"
        raise user.error(("block_conf", "of"), "the name of a block", repr(name), hint, instance)

    def define(self, block: BlockDefinition, at: FieldPath) -> None:
        """Add ``block``; ``at`` is where this file defines or includes it. Raises ConfigError if there is another."""
        name = block.message.name
        other = self.blocks.setdefault(name, block)
        if other.message is not block.message:
            place = other.library.source.position(other.at)
            got = f"{name!r}, which is also defined at {place}"
            raise self.job.error(at, "blocks of different names", got, "rename one of them")


class LibraryReader:
    """Reads libraries; a file that several others include is read once."""

    def __init__(self) -> None:
        self.read: dict[Path, Library] = {}

    def library(self, source: JobSource, including: tuple[JobSource, ...] = ()) -> Library:
        """The library of ``source``, which is included by the last of ``including``. Raises ConfigError."""
        check_required_fields(source)
        library = Library(source)
        for k, name in enumerate(source.proto.neuralnet.include):
            at = ("neuralnet", "include", k)
            included = self._included(library, name, at, (*including, source))
            library.values |= included.values
            for block in included.blocks.values():
                library.define(block, at)
        _define_own(library)
        return library

    def _included(self, library: Library, name: str, at: FieldPath, including: tuple[JobSource, ...]) -> Library:
        """The library of the file ``name``, relative to the folder of the file that includes it."""
        path = (library.source.path.parent if library.source.path else Path()) / name
        key = _resolved_path(library, path, at)
        if key in (chain := [each.path.resolve() for each in including if each.path]):
            names = " → ".join([each.name for each in including[chain.index(key) - len(chain) :]] + [str(path)])
            hint = "move the blocks to a third file"
            raise library.job.error(at, "a file that does not include this one", names, hint)
        if key not in self.read:
            self._check_limits(library, at, len(including))
            self.read[key] = self.library(_read_included(library, path, at), including)
        return self.read[key]

    def _check_limits(self, library: Library, at: FieldPath, depth: int) -> None:
        """Raise ConfigError for too many included files, and for files that include each other too deeply."""
        if depth > BLOCK_DEPTH:
            hint = "include the file with the blocks itself"
            raise library.job.error(at, f"at most {BLOCK_DEPTH} files that include one another", "more", hint)
        if len(self.read) >= INCLUDED_FILES:
            hint = "put the blocks into fewer files"
            raise library.job.error(at, f"at most {INCLUDED_FILES} included files", "more", hint)


def _resolved_path(library: Library, path: Path, at: FieldPath) -> Path:
    """``path`` without links. Raises ConfigError for what no file can be called, and for links in a circle."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        raise library.job.error(at, "a file", repr(str(path)), "name a readable file") from None


def _read_included(library: Library, path: Path, at: FieldPath) -> JobSource:
    """The text of the file ``path``. Raises ConfigError, at the include if it cannot be read."""
    try:
        data = read_job_bytes(path)
    except ConfigError as error:
        error.position = library.source.position(at)
        raise
    return read_job_source(decode_utf8(data, str(path)), str(path), path)


def _define_own(library: Library) -> None:
    """Add the blocks and values of the file itself."""
    net = library.source.proto.neuralnet
    for k, block in enumerate(net.block):
        at = ("neuralnet", "block", k)
        if not block.name:
            raise library.job.error(at, "a block with a name", "none", 'add name: "..."')
        library.define(BlockDefinition(library, at, block), at)
    for k, let in enumerate(net.let):
        at = ("neuralnet", "let", k)
        check_value_name(library.job, at, let)
        if not let.HasField("value"):
            raise library.job.error(at, "a value", "none", 'add value: "..."')
        library.values[let.name] = library.job.fill_text(let.value, library.values, (*at, "value"))


def check_value_name(owner: Template[Any], at: FieldPath, let: LetProto, instance: str = "") -> None:
    """Raise ConfigError unless the name of ``let``, at ``at`` of ``owner``, is one that ${name} can name."""
    if not re.fullmatch(r"\w+", let.name) or let.name == INSTANCE:
        expected = f"a name of letters, digits and _, other than {INSTANCE}"
        raise owner.error((*at, "name"), expected, repr(let.name), "${instance} is the name of the instance", instance)


__all__ = ["INSTANCE", "BlockDefinition", "Library", "LibraryReader", "check_value_name"]
