"""Winograd's minimal filtering along one axis: four outputs of a filter of three elements by 6 products, not 12.

    y = A [(G w) · (B x)]        y (4), w (3), x (6)                    of a tile of outputs, and the inputs it reads

A, G and B evaluate polynomials at the points 0, 1, -1, 1/2, -2 and infinity. These points lose fewer digits than 2 and
-2: an output's error is about twice that of the plain sum. The same matrices give both gradients. Winograd, Arithmetic
Complexity of Computations, 1980; for nets Lavin and Gray, 2015 (arXiv 1509.09308); for the points Barabasz et al., 2018
(arXiv 1803.10986).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from netpart.kernels.op import Array

OUTPUTS, TAPS, POINTS = 4, 3, 6
ONE = 1
"""The index of the point 1, which every output counts once: what is added there is added to each output."""

A = np.array(
    [[1, 1, 1, 1, 1, 0], [0, 1, -1, 1 / 2, -2, 0], [0, 1, 1, 1 / 4, 4, 0], [0, 1, -1, 1 / 8, -8, 1]],
    np.float32,
)  # fmt: skip
G = np.array(
    [[1, 0, 0], [1 / 3, 1 / 3, 1 / 3], [-1 / 3, 1 / 3, -1 / 3], [-16 / 15, -8 / 15, -4 / 15],
     [1 / 15, -2 / 15, 4 / 15], [0, 0, 1]],
    np.float32,
)  # fmt: skip
B = np.array(
    [[1, -3 / 2, -2, 3 / 2, 1, 0], [0, -1, 1 / 2, 5 / 2, 1, 0], [0, 1, -5 / 2, 1 / 2, 1, 0], [0, -2, -1, 2, 1, 0],
     [0, 1 / 2, -1, -1 / 2, 1, 0], [0, 1, -3 / 2, -2, 3 / 2, 1]],
    np.float32,
)  # fmt: skip


@dataclass(frozen=True)
class TileLines:
    """What one tile reads and writes: ``inputs`` and ``outputs`` are ranges of lines.

    Lines that are missing at the ends, of padding or after the last output, are zeros that nobody reads or writes.
    """

    inputs: tuple[int, int]
    outputs: tuple[int, int]
    before: int

    def from_inputs(self) -> Array:
        """The matrix (points, input lines) of the inputs."""
        return B[:, self.before : self.before + self.inputs[1] - self.inputs[0]]

    def to_outputs(self) -> Array:
        """The matrix (output lines, points) to the outputs; its transpose is that of their gradients."""
        return A[: self.outputs[1] - self.outputs[0]]


@dataclass(frozen=True)
class LineTiles:
    """The tiles of an axis of ``outputs`` lines that reads ``inputs`` lines after ``low`` lines of padding."""

    inputs: int
    outputs: int
    low: int

    @property
    def count(self) -> int:
        """The number of tiles."""
        return ceil(self.outputs / OUTPUTS)

    @property
    def saved(self) -> float:
        """The share of all products that tiles save."""
        return 1 - POINTS * self.count / (TAPS * self.outputs)

    @property
    def fits(self) -> bool:
        """True if each window is whole with its padding, and each tile reads a line that is no padding."""
        high = self.outputs + TAPS - 1 - self.low - self.inputs
        return self.outputs > 0 and self.inputs > 0 and 0 <= self.low < TAPS and 0 <= high < TAPS

    def turned(self) -> LineTiles:
        """The tiles of the gradient of the inputs, which reads that of the outputs with the filter turned round."""
        return LineTiles(self.outputs, self.inputs, TAPS - 1 - self.low)

    def tile(self, index: int) -> TileLines:
        """One of the tiles."""
        first = OUTPUTS * index
        start = first - self.low
        inputs = max(0, start), min(start + POINTS, self.inputs)
        return TileLines(inputs, (first, min(first + OUTPUTS, self.outputs)), inputs[0] - start)


def equal_strip(images: int, tiles: int, nbytes: int, space: int) -> tuple[int, int]:
    """The images and tiles of each of many equal strips: the most of ``nbytes`` each that fit ``space``; or 1, 1."""
    found = [(n, t) for n in _divisors(images) for t in _divisors(tiles) if n * t * nbytes <= space]
    return max(found, key=lambda strip: (strip[0] * strip[1], strip[1]), default=(1, 1))


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]
