"""Data files: each format that netpart reads, with wrong numbers in its header, damaged, cut off, or no file at all."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

from tests.fuzz.case import Case, Fuzz
from tests.fuzz.formats import Format, formats
from tests.fuzz.mutate import mutated, reworded
from tests.fuzz.strange import KINDS

STRANGE, MEANWHILE = 0.12, 0.12
"""Shares of the cases in which there is no regular file, and in which it is truncated while it is read."""


def written(content: bytes, path: Path) -> None:
    """Writes a file."""
    path.write_bytes(content)


class DataFiles(Fuzz):
    """Reads a file of each format as netpart does, with something wrong in it."""

    seconds = 10.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.formats, self.place = formats(folder), folder / "case"

    def sound(self) -> Iterator[Case]:
        for name, form in self.formats.items():
            content = self.content(form, form.files[form.name])
            yield Case(name, partial(self.read, form, partial(written, content)))

    def case(self, draw: Random) -> Case:
        name = draw.choice(list(self.formats))
        form = self.formats[name]
        content, way = form.files[form.name], draw.random()
        names = (form.name, form.name.partition("/")[0], *form.others)
        if way < STRANGE:
            kind = draw.choice(KINDS)
            return Case(
                f"{name} is {kind.__name__}", partial(self.read, form, lambda path: kind(path, content, draw)), names
            )
        if way < STRANGE + MEANWHILE:
            whole, end = self.content(form, content), draw.randrange(len(content))
            write = partial(self.read, form, partial(written, whole), end)
            return Case(f"{name} ends at byte {end} while it is read", write, names)
        if form.text and way < 0.6:
            changed = reworded(content.decode(), draw).encode(errors="replace")
        else:
            changed = mutated(content, draw, form.fields)
        packed = self.content(form, changed)
        return Case(f"{name} changed", partial(self.read, form, partial(written, packed)), names)

    @staticmethod
    def content(form: Format, content: bytes) -> bytes:
        """What the file holds: a header that is damaged is packed as a sound one is."""
        packed = form.name.endswith(".gz") and content[:2] != b"\x1f\x8b" and form.fields
        return gzip.compress(content, 1, mtime=0) if packed else content

    def read(self, form: Format, write: Callable[[Path], object], end: int | None = None) -> None:
        """Reads the files of a format, the first as ``write`` makes it; it ends at byte ``end`` once it is open."""
        shutil.rmtree(self.place, ignore_errors=True)
        for name, content in form.files.items():
            path = self.place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name == form.name:
                write(path)
            else:
                path.write_bytes(content)
        form.read(self.place, (lambda: None) if end is None else partial(os.truncate, self.place / form.name, end))
