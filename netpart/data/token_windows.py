"""TokenWindows: rows that are windows of a sequence of tokens, with the next token at every position as label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netpart.data.corpus import Corpus
from netpart.data.row_source import RowOutputs, RowSource
from netpart.spec import Region, Shape, extent

Draw = Callable[[int, int, int, int], list[int]]
"""(step, first row, last row (excluded), bound) -> a number from ``range(bound)`` for every row."""


class TokenSequence(Protocol):
    """Token numbers by their place in a sequence."""

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """The tokens ``start`` to ``stop`` (excluded)."""
        ...


class TextTokens:
    """The bytes of a text as tokens."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __len__(self) -> int:
        return len(self._corpus)

    def read(self, start: int, stop: int) -> NDArray[np.uint8]:
        """The bytes ``start`` to ``stop`` (excluded)."""
        return np.frombuffer(self._corpus.read(start, stop), np.uint8)


class TokenWindows(RowSource):
    """Row r of step s is the window that starts at the draw for (s, r), within ``span`` of the tokens.

    ``span`` (first token, last token excluded) holds at least ``window`` + 1 tokens.
    """

    def __init__(self, tokens: TokenSequence, span: tuple[int, int], window: int, draw: Draw) -> None:
        self.shape: Shape = (window,)
        self._tokens = tokens
        self._draw = draw
        self._first = span[0]
        self._starts = span[1] - span[0] - window

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        ((a, b),) = box
        for i, start in enumerate(self._draw(step, lo, hi, self._starts)):
            at = self._first + start
            # One token more than the box: the label of each position is the token after it.
            values = self._tokens.read(at + a, at + b + 1)
            out.put(i, values[:-1], values[1:])

    def labels(self, box: Region) -> Shape:
        return extent(box)


def phase_spans(size: int, held_out: float) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """The (first, last excluded) tokens of ``size`` tokens for training, validation and testing.

    Training gets the front; the held-out end is halved between validation and testing.
    """
    kept = size - int(size * held_out)
    half = kept + (size - kept) // 2
    return (0, kept), (kept, half), (half, size)
