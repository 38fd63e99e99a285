"""SINGA's TextFile: one record per line; its key is the number of the line, counted from 0."""

from __future__ import annotations

import mmap
from array import array

import numpy as np
from numpy.typing import NDArray

from netpart.data.mapped import Store


class TextStore(Store):
    """A text file for reading; a value is a line without its end."""

    def _scan(self, file: mmap.mmap) -> NDArray[np.int64]:
        spans, at, size = array("q"), 0, len(file)
        while at < size:
            newline = file.find(b"\n", at)
            stop = newline if newline >= 0 else size
            spans.extend((0, 0, at, stop))
            at = stop + 1
        return np.frombuffer(spans, np.int64).reshape(-1, 4)

    def key(self, record: int) -> bytes:
        """The line's number in decimal digits."""
        return b"%d" % record

    def place(self, record: int) -> str:
        """``file:line``, lines of the whole file counted from 1."""
        return f"{self.path}:{self._skipped + record + 1}"

    def value(self, record: int) -> bytes:
        """The line, without line feed or carriage return."""
        return super().value(record).removesuffix(b"\r")
