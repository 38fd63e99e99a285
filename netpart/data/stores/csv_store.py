"""CsvStore: the lines of a CSV file, in which line feeds between quotes end no line (RFC 4180)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.byte_source import ByteSource
from netpart.data.remote.url_path import DataPath
from netpart.data.signatures import HEAD, is_text
from netpart.data.stores.textfile import NEWLINE, TextStore
from netpart.errors import DataError

_QUOTE = 0x22


class CsvStore(TextStore):
    """A CSV file for reading; a value is a line, with the line feeds between its quotes, without its end."""

    def __init__(self, path: DataPath) -> None:
        self._inside = False
        self._quoted = False
        super().__init__(path)

    def _scan(self, file: ByteSource) -> NDArray[np.int64]:
        spans = super()._scan(file)
        # What is no text is refused by its reader, which names what the file is.
        if self._inside and is_text(file.read(0, min(HEAD, file.size))):
            line = 1 + _count_lines(file, int(spans[-1, 2]))
            hint = "close the quote, or write each quote in a field twice"
            raise DataError(
                f"{self.path}:{line}: expected an even number of quotes from here to the end, got an odd one; {hint}"
            )
        return spans

    def _line_ends(self, block: NDArray[np.uint8]) -> NDArray[Any]:
        quotes = block == _QUOTE
        if not self._inside and not quotes.any():
            return super()._line_ends(block)
        self._quoted = True
        # A doubled quote ends the quotes and begins them again, so counting modulo 2 is enough.
        inside = (np.cumsum(quotes) + self._inside) % 2 == 1
        self._inside = bool(inside[-1])
        return np.flatnonzero((block == NEWLINE) & ~inside)

    def place(self, record: int) -> str:
        """``file:line`` of the first line of a record, where lines of the file count from 1."""
        if not self._quoted:
            return super().place(record)
        return f"{self.path}:{1 + _count_lines(self._file, int(self._spans[record, 2]))}"


def _count_lines(file: ByteSource, stop: int) -> int:
    """The number of line feeds before byte ``stop``."""
    blocks = (np.frombuffer(block, np.uint8)[: max(stop - at, 0)] for at, block in file.blocks() if at < stop)
    return sum(int(np.count_nonzero(block == NEWLINE)) for block in blocks)
