"""SyntheticRows: endless labelled rows without a file, learnable, the same under every cut."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from netpart.data.resize import interpolation_matrix
from netpart.data.row_source import RowOutputs, RowSource
from netpart.spec import Region, Shape

_COARSE = 8
"""Random values of a pattern along each axis, between which it is interpolated."""
_PROTOTYPES = 2**64 - 1
"""Stream of the class prototypes: no stream of rows has this number."""
_BUDGET = 64 * 2**20
"""Bytes of patterns that are kept."""
_STD = 65536 * (4 / 12) ** 0.5
"""Standard deviation of the sum of four uniform 16-bit numbers: each has variance 65536^2 / 12."""


class SyntheticRows(RowSource):
    """Row r of step s is the smooth random pattern of its class plus noise of standard deviation ``noise``.

    Rows depend only on (seed, stream, s·batch + r). Streams (training 0, test 1, ...) have different rows
    and share the patterns, which depend on ``seed`` alone and have mean square 1 per element.
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
        self._keep = _kept_patterns(shape)
        self._patterns: dict[int, NDArray[np.float32]] = {}

    def classes_of(self, step: int, lo: int, hi: int) -> NDArray[np.int32]:
        """Classes of rows ``lo`` to ``hi`` of the mini-batch of ``step``: (hi − lo,) int32."""
        start = step * self._batch
        draws = [int(self._bits(self._stream, row).random_raw()) for row in range(start + lo, start + hi)]
        return np.array([draw % self.classes for draw in draws], np.int32)

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        classes = self.classes_of(step, lo, hi)
        if out.label is not None:
            out.label[...] = classes
        if out.data is not None:
            crop = tuple(slice(a, b) for a, b in box)
            for i, label in enumerate(classes.tolist()):
                out.data[i] = self._row(step * self._batch + lo + i, label)[crop]

    def _row(self, row: int, label: int) -> NDArray[np.float32]:
        bits = self._bits(self._stream, row)
        bits.random_raw()  # the first word is the class (see ``classes_of``)
        return self._pattern(label) + self._noise * draw_normal(bits, self.shape)

    def _pattern(self, label: int) -> NDArray[np.float32]:
        if label not in self._patterns:
            if len(self._patterns) >= self._keep:
                self._patterns.pop(next(iter(self._patterns)))
            self._patterns[label] = smooth_pattern(self._bits(_PROTOTYPES, label), self.shape)
        return self._patterns[label]

    def _bits(self, stream: int, row: int) -> np.random.Philox:
        return stream_bits(self._seed, stream, row)


def _kept_patterns(shape: Shape) -> int:
    """The most patterns that are kept."""
    return max(_BUDGET // (4 * prod(shape)), 1)


def pattern_bytes(shape: Shape, classes: int) -> int:
    """Bytes of the patterns of so many classes that are kept."""
    return min(classes, _kept_patterns(shape)) * 4 * prod(shape)


def stream_bits(seed: int, stream: int, row: int) -> np.random.Philox:
    """The generator of a row's random words: the lowest word of the counter counts them, the second is the row."""
    key = np.array([seed % 2**64, stream], np.uint64)
    return np.random.Philox(key=key, counter=np.array([0, row, 0, 0], np.uint64))


def draw_normal(bits: np.random.Philox, shape: Shape) -> NDArray[np.float32]:
    """Draw nearly normal numbers of variance 1, each the sum of four uniform numbers (Irwin–Hall).

    Unlike the draws of ``numpy.random.Generator`` they are the same in every version of NumPy.
    """
    # Each 64-bit word gives four 16-bit numbers. "<u8" fixes their order on every machine; the sums are exact in
    # float32, below 2^24.
    words = np.asarray(bits.random_raw(prod(shape))).astype("<u8").view("<u2").astype(np.float32)
    total = words[0::4] + words[1::4] + words[2::4] + words[3::4]
    return ((total - np.float32(2 * 65535)) / np.float32(_STD)).reshape(shape)


def smooth_pattern(bits: np.random.Philox, shape: Shape) -> NDArray[np.float32]:
    """Draw a pattern that varies slowly along every axis, with mean square 1. A vector is not smoothed: its elements
    are features, not neighbours."""
    coarse = tuple(min(n, _COARSE) for n in shape) if len(shape) > 1 else shape
    pattern = draw_normal(bits, coarse)
    for axis, (few, many) in enumerate(zip(coarse, shape, strict=True)):
        if few == many:
            continue  # its matrix would be the unit matrix, which is large for long vectors
        pattern = np.moveaxis(np.tensordot(interpolation_matrix(few, many), pattern, (1, axis)), 0, axis)
    return np.asarray(pattern / max(float(np.sqrt(np.mean(pattern**2))), 1e-6), np.float32)
