"""TextWindows: rows that are windows of the bytes of a text, with the next byte at every position as label."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from netpart.data.corpus import Corpus
from netpart.data.row_source import RowOutputs, RowSource
from netpart.spec import Region, Shape, extent

Draw = Callable[[int, int, int, int], list[int]]
"""(step, first row, last row (excluded), bound) -> a number from ``range(bound)`` for every row."""


class TextWindows(RowSource):
    """Row r of step s is the window that starts at the draw for (s, r), within ``span`` of the corpus.

    ``span`` (first byte, last byte excluded) holds at least ``window`` + 1 bytes.
    """

    def __init__(self, corpus: Corpus, span: tuple[int, int], window: int, draw: Draw) -> None:
        self.shape: Shape = (window,)
        self._corpus = corpus
        self._draw = draw
        self._first = span[0]
        self._starts = span[1] - span[0] - window

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        ((a, b),) = box
        for i, start in enumerate(self._draw(step, lo, hi, self._starts)):
            at = self._first + start
            # One byte more than the box: the label of each position is the byte after it.
            values = np.frombuffer(self._corpus.read(at + a, at + b + 1), np.uint8)
            out.put(i, values[:-1], values[1:])

    def labels(self, box: Region) -> Shape:
        return extent(box)


def phase_spans(size: int, held_out: float) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """The (first, last excluded) bytes of ``size`` bytes for training, validation and testing.

    Training gets the front; the held-out end is halved between validation and testing.
    """
    kept = size - int(size * held_out)
    half = kept + (size - kept) // 2
    return (0, kept), (kept, half), (half, size)
