"""SyntheticMaskRows: endless noisy images without a file, with the class of every place."""

from __future__ import annotations

from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from netpart.data.row_source import RowOutputs, RowSource
from netpart.data.synthetic import draw_normal, smooth_pattern, stream_bits
from netpart.spec import Region, Shape

_MAPS, _COLOURS = 2**64 - 2, 2**64 - 3
"""Streams of the class map and of the colours: no stream of rows has these numbers."""


class SyntheticMaskRows(RowSource):
    """A row (channels, *space) shows a map of smooth regions, each in the colour of its class, plus noise.

    Every row is the same map, shifted cyclically on each spatial axis by a random amount. Rows depend only on
    (seed, stream, s·batch + r); map and colours on ``seed`` alone. Places are in row-major order.
    """

    def __init__(
        self, shape: Shape, classes: int, *, batch: int, seed: int = 0, noise: float = 1.0, stream: int = 0
    ) -> None:
        self.shape = shape
        self.classes = classes
        self._batch = batch
        self._seed = seed
        self._noise = np.float32(noise)
        self._stream = stream

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        crop = tuple(slice(a, b) for a, b in box)
        for i in range(hi - lo):
            bits = stream_bits(self._seed, self._stream, step * self._batch + lo + i)
            classes = self._shifted(bits)
            if out.label is not None:
                out.label[i] = classes.reshape(-1)
            if out.data is not None:
                out.data[i] = (self._colours[:, classes] + self._noise * draw_normal(bits, self.shape))[crop]

    def labels(self, box: Region) -> Shape:
        return (prod(self.shape[1:]),)

    def _shifted(self, bits: np.random.Philox) -> NDArray[np.int32]:
        space = self.shape[1:]
        shifts = [int(bits.random_raw()) % n for n in space]
        # Negative indices count from the end, which makes the shift cyclic.
        rows = (np.arange(n) - shift for n, shift in zip(space, shifts, strict=True))
        return np.asarray(self._map[np.ix_(*rows)], np.int32)

    @cached_property
    def _map(self) -> NDArray[np.int32]:
        fields = [smooth_pattern(stream_bits(self._seed, _MAPS, k), self.shape[1:]) for k in range(self.classes)]
        classes: NDArray[np.int64] = np.argmax(np.stack(fields), axis=0)
        return classes.astype(np.int32)

    @cached_property
    def _colours(self) -> NDArray[np.float32]:
        return draw_normal(stream_bits(self._seed, _COLOURS, 0), (self.shape[0], self.classes))
