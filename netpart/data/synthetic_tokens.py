"""SyntheticTokenRows: endless token sequences without a file, in which each token predicts the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netpart.data.row_source import RowOutputs, RowSource
from netpart.data.synthetic import stream_bits
from netpart.spec import Region, Shape, extent

_STEP = 2654435761
"""Knuth's multiplicative hash: maps neighbouring tokens to distant ones."""


class SyntheticTokenRows(RowSource):
    """A row has ``window`` tokens, and as labels the token after each of them.

    With probability noise / (1 + noise) a token is uniformly random, else it is a fixed function of its predecessor.
    Rows depend only on (seed, stream, s·batch + r).
    """

    def __init__(
        self, window: int, vocabulary: int, *, batch: int, seed: int = 0, noise: float = 1.0, stream: int = 0
    ) -> None:
        self.shape: Shape = (window,)
        self._vocabulary = vocabulary
        self._batch = batch
        self._seed = seed
        self._stream = stream
        self._surprise = noise / (1 + noise)

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        ((a, b),) = box
        for i in range(hi - lo):
            row = self._row(step * self._batch + lo + i)
            out.put(i, row[a:b], row[a + 1 : b + 1])

    def labels(self, box: Region) -> Shape:
        return extent(box)

    def _row(self, row: int) -> NDArray[np.int64]:
        words = np.asarray(stream_bits(self._seed, self._stream, row).random_raw(self.shape[0] + 1))
        drawn = (words % np.uint64(self._vocabulary)).astype(np.int64)
        # The token uses the low bits of the word, the choice its 24 highest bits: nearly independent, from one draw.
        surprising = (words >> np.uint64(40)) < self._surprise * 2**24
        surprising[0] = True
        tokens = drawn.tolist()
        for i, free in enumerate(surprising.tolist()):
            if not free:
                tokens[i] = (tokens[i - 1] + 1) * _STEP % self._vocabulary
        return np.array(tokens)
