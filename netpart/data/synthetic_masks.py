"""SyntheticMasks: endless noisy images without a file, with the class of every place."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.synthetic import normal, smooth, stream_bits
from netpart.spec import Region, Shape, whole

_MAPS, _COLOURS = 2**64 - 2, 2**64 - 3
"""Streams of the classes' maps and colours: no stream of rows has these numbers."""


class SyntheticMasks:
    """A row (channels, *space) shows a map of smooth regions, each in the colour of its class, and noise.

    Every row is the same map, shifted around on each spatial axis by an amount of its own. Rows depend only on
    (seed, stream, s·batch + r); map and colours on ``seed`` alone. Places count in row-major order.
    """

    def __init__(
        self, shape: Shape, classes: int, *, batch: int, seed: int = 0, noise: float = 1.0, stream: int = 0
    ) -> None:
        self.shape, self.classes = shape, classes
        self._batch, self._seed, self._noise, self._stream = batch, seed, np.float32(noise), stream

    def read(
        self,
        step: int,
        lo: int,
        hi: int,
        data_out: NDArray[Any] | None,
        label_out: NDArray[np.int32] | None,
        box: Region | None = None,
    ) -> None:
        """Fills rows ``lo`` to ``hi`` (excluded) of the mini-batch of ``step``; None: not wanted.

        ``data_out``: (hi − lo, *box) float32 or float64; ``label_out``: (hi − lo, places) int32.
        """
        crop = tuple(slice(a, b) for a, b in (whole(self.shape) if box is None else box))
        for i in range(hi - lo):
            bits = stream_bits(self._seed, self._stream, step * self._batch + lo + i)
            classes = self._shifted(bits)
            if label_out is not None:
                label_out[i] = classes.reshape(-1)
            if data_out is not None:
                data_out[i] = (self._colours[:, classes] + self._noise * normal(bits, self.shape))[crop]

    def _shifted(self, bits: np.random.Philox) -> NDArray[np.int32]:
        space = self.shape[1:]
        shifts = [int(bits.random_raw()) % n for n in space]
        rows = (np.arange(n) - shift for n, shift in zip(space, shifts, strict=True))
        return np.asarray(self._map[np.ix_(*rows)], np.int32)

    @cached_property
    def _map(self) -> NDArray[np.int32]:
        fields = [smooth(stream_bits(self._seed, _MAPS, k), self.shape[1:]) for k in range(self.classes)]
        classes: NDArray[np.int64] = np.argmax(np.stack(fields), axis=0)
        return classes.astype(np.int32)

    @cached_property
    def _colours(self) -> NDArray[np.float32]:
        return normal(stream_bits(self._seed, _COLOURS, 0), (self.shape[0], self.classes))
