"""TextWindows: rows of a text: windows of its bytes, each with the byte that comes next at every place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from netpart.data.corpus import Corpus
from netpart.data.source import RowOutputs, RowSource
from netpart.spec import Region, Shape, extent

Draw = Callable[[int, int, int, int], list[int]]
"""(step, first row, last row (excluded), bound) -> a number from ``range(bound)`` for every row."""


class TextWindows(RowSource):
    """Row r of step s is the window that starts where ``draw`` says for (s, r), within ``span`` of the corpus.

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
            values = np.frombuffer(self._corpus.read(at + a, at + b + 1), np.uint8)
            out.put(i, values[:-1], values[1:])

    def labels(self, box: Region) -> Shape:
        return extent(box)


def phase_spans(size: int, held_out: float) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """What of ``size`` bytes is for training, validation and testing: the front, and two halves of the held-out end."""
    kept = size - int(size * held_out)
    half = kept + (size - kept) // 2
    return (0, kept), (kept, half), (half, size)
