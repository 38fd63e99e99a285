"""SINGA's TextFile format: one record per line; its key is the number of the line, counted from 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.byte_source import ByteSource
from netpart.data.stores.record_store import RecordStore
from netpart.errors import DataError
from netpart.units import bytes_text

LONGEST = 64 << 20
"""Largest number of bytes of a line."""
NEWLINE = 0x0A


class TextStore(RecordStore):
    """A text file for reading; a value is a line without its end."""

    def _scan(self, file: ByteSource) -> NDArray[np.int64]:
        stops = list[NDArray[np.int64]]()
        lines = 0
        start = 0
        for at, block in file.blocks():
            found = at + self._line_ends(np.frombuffer(block, np.uint8))
            start, lines = (int(found[-1]) + 1, lines + len(found)) if len(found) else (start, lines)
            if at + len(block) - start > LONGEST:
                wanted = f"lines of at most {bytes_text(LONGEST)}"
                raise DataError(f"{self.path}:{lines + 1}: expected {wanted}, got a longer one; name a text file")
            stops.append(found)
        # The last line may have no line feed.
        if start < file.size:
            stops.append(np.array([file.size]))
        return _line_spans(np.concatenate(stops))

    def _line_ends(self, block: NDArray[np.uint8]) -> NDArray[Any]:
        """Offsets in ``block``, the next of the file, of the line feeds that end a line."""
        return np.flatnonzero(block == NEWLINE)

    def key(self, record: int) -> bytes:
        """The line's number in decimal digits."""
        return b"%d" % record

    def place(self, record: int) -> str:
        """The name of a line in errors: ``file:line``, where lines of the file count from 1."""
        return f"{self.path}:{self._skipped + record + 1}"

    def value(self, record: int) -> bytes:
        """The line, without line feed or carriage return."""
        return super().value(record).removesuffix(b"\r")


def _line_spans(stops: NDArray[np.int64]) -> NDArray[np.int64]:
    """The index (lines, 4), with empty keys, of lines that end at ``stops``; a line feed follows each."""
    spans = np.zeros((len(stops), 4), np.int64)
    spans[1:, 2] = stops[:-1] + 1
    spans[:, 3] = stops
    return spans
