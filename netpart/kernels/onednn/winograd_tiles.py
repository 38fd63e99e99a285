"""Winograd's minimal filtering along one axis: a tile of 7 - r outputs of a filter of r elements by six products.

    y = A [(G w) · (B x)]        y (7 - r), w (r), x (6)                of a tile of outputs, and the inputs it reads

    r                    2    3    4    5
    products           2·5  3·4  4·3  5·2    of plain sums, in place of six

A, G and B evaluate polynomials at the points 0, 1, -1, 1/2, -2 and infinity, so B is the same for all filters. These
points lose fewer digits than 2 and -2: an output's error is 2 to 4 times that of the plain sum, whatever r is. The same
matrices give both gradients. Winograd, Arithmetic Complexity of Computations, 1980; for nets Lavin and Gray, 2015
(arXiv 1509.09308); for the points Barabasz et al., 2018 (arXiv 1803.10986).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import ceil

import numpy as np

from netpart.kernels.op import Array

POINTS = 6
TAPS = range(2, POINTS)
"""The elements that a filter may have."""
ONE = 1
"""The index of the point 1, which every output counts once: what is added there is added to each output."""

_FINITE = np.array([0, 1, -1, 1 / 2, -2])
_SCALES = np.array([1, 1 / 3, -1 / 3, -16 / 15, 1 / 15])
"""The finite points, and by what the weights there are multiplied: so B has numbers of few bits."""
B = np.array(
    [[1, -3 / 2, -2, 3 / 2, 1, 0], [0, -1, 1 / 2, 5 / 2, 1, 0], [0, 1, -5 / 2, 1 / 2, 1, 0], [0, -2, -1, 2, 1, 0],
     [0, 1 / 2, -1, -1 / 2, 1, 0], [0, 1, -3 / 2, -2, 3 / 2, 1]],
    np.float32,
)  # fmt: skip


def output_matrix(outputs: int) -> Array:
    """A (outputs, points)."""
    return _powers(np.ones(len(_FINITE)), outputs).T.copy()


def weight_matrix(taps: int) -> Array:
    """G (points, taps)."""
    return _powers(_SCALES, taps)


def _powers(scales: Array, count: int) -> Array:
    """``scales`` times the powers 0, 1, .. of the finite points, and at infinity the last one: (points, count)."""
    finite = scales[:, None] * _FINITE[:, None] ** np.arange(count)
    return np.vstack([finite, np.arange(count) == count - 1]).astype(np.float32)


@dataclass(frozen=True)
class TileLines:
    """What a tile reads and writes: ``inputs`` and ``outputs`` are ranges of lines.

    Lines that are missing at the ends, of padding or after the last output, are zeros that nobody reads or writes.
    """

    inputs: tuple[int, int]
    outputs: tuple[int, int]
    before: int
    matrix: Array = field(repr=False, compare=False)
    """A of a whole tile."""

    def from_inputs(self) -> Array:
        """The matrix (points, input lines) of the inputs."""
        return B[:, self.before : self.before + self.inputs[1] - self.inputs[0]]

    def to_outputs(self) -> Array:
        """The matrix (output lines, points) to the outputs; its transpose is that of their gradients."""
        return self.matrix[: self.outputs[1] - self.outputs[0]]


@dataclass(frozen=True)
class LineTiles:
    """The tiles of an axis of ``outputs`` lines that reads ``inputs`` lines after ``low`` lines of padding, by a filter
    of ``taps`` elements."""

    inputs: int
    outputs: int
    low: int
    taps: int

    @property
    def step(self) -> int:
        """The outputs of a tile."""
        return POINTS + 1 - self.taps

    @property
    def count(self) -> int:
        """The number of tiles."""
        return ceil(self.outputs / self.step)

    @property
    def saved(self) -> float:
        """The share of all products that tiles save."""
        return 1 - POINTS * self.count / (self.taps * self.outputs)

    @property
    def fits(self) -> bool:
        """True if each window is whole with its padding, and each tile reads a line that is no padding."""
        high = self.outputs + self.taps - 1 - self.low - self.inputs
        return self.outputs > 0 and self.inputs > 0 and 0 <= self.low < self.taps and 0 <= high < self.taps

    def turned(self) -> LineTiles:
        """The tiles of the gradient of the inputs, which reads that of the outputs with the filter turned round."""
        return LineTiles(self.outputs, self.inputs, self.taps - 1 - self.low, self.taps)

    @cached_property
    def matrix(self) -> Array:
        """The matrix to the outputs of a tile."""
        return output_matrix(self.step)

    def tile(self, index: int) -> TileLines:
        """One of the tiles."""
        first = self.step * index
        start = first - self.low
        inputs = max(0, start), min(start + POINTS, self.inputs)
        return TileLines(inputs, (first, min(first + self.step, self.outputs)), inputs[0] - start, self.matrix)


def equal_strip(images: int, tiles: int, nbytes: int, space: int) -> tuple[int, int]:
    """The images and tiles of each of many equal strips: the most of ``nbytes`` each that fit ``space``; or 1, 1."""
    found = [(n, t) for n in _divisors(images) for t in _divisors(tiles) if n * t * nbytes <= space]
    return max(found, key=lambda strip: (strip[0] * strip[1], strip[1]), default=(1, 1))


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]
