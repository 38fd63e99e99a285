"""RowArray: an array in a file, of which rows are read on request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netpart.errors import DataError
from netpart.spec import Shape

NUMBERS = "biuf"
"""Kinds of dtypes that rows may have: bool, signed and unsigned whole numbers, floats."""


SCANNED = 1 << 20
"""Elements per read when they are checked."""
MOST_SCANNED = 1 << 28
"""Largest number of elements that are checked before a run: these take about a second."""


def scan_blocks(rows: int, elements: int = 1, most: int = MOST_SCANNED) -> Iterator[tuple[int, int]]:
    """Yield (first, last (excluded)) of the blocks to check before a run, of ``rows`` rows of ``elements`` elements.

    These are all rows, or blocks at even distances if there are more than ``most`` elements. Kernels check every
    label and token again when they read it.
    """
    height = max(1, SCANNED // elements)
    stride = height * max(1, -(-rows * elements // most))
    yield from ((lo, min(lo + height, rows)) for lo in range(0, rows, stride))


class ReadableBytes(Protocol):
    """Bytes by their offset: a file, or a member of an archive that was unpacked."""

    size: int

    def read(self, start: int, stop: int) -> bytes:
        """The bytes ``start`` to ``stop`` (excluded)."""
        ...


class HeldBytes:
    """Bytes that are in memory."""

    def __init__(self, content: bytes) -> None:
        self.size = len(content)
        self._content = content

    def read(self, start: int, stop: int) -> bytes:
        """The bytes ``start`` to ``stop`` (excluded)."""
        return self._content[start:stop]


class RowArray(ABC):
    """An array of numbers with one axis or more, at least one row and no empty axis. ``place`` names it in errors.

    Raises DataError for any other array, objects in particular: nothing is unpickled.
    """

    def __init__(self, shape: Shape, dtype: np.dtype[Any], place: str) -> None:
        self.shape = shape
        self.dtype = dtype
        self.place = place
        if dtype.hasobject:
            hint = "netpart reads no pickles: save it as numbers, x.astype('float32')"
            raise DataError(f"{place}: expected an array of numbers, got Python objects; {hint}")
        if dtype.kind not in NUMBERS:
            raise DataError(f"{place}: expected an array of numbers, got {dtype}; save it as numbers")
        if not shape or min(shape) < 1:
            got = f"shape {shape}"
            raise DataError(f"{place}: expected an array with at least one row, got {got}; save it anew")

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def rows(self, lo: int, hi: int) -> NDArray[Any]:
        """The rows ``lo`` to ``hi`` (excluded), read-only. Raises DataError if they cannot be read."""


class StoredArray(RowArray):
    """An array whose elements lie in ``source`` in row-major order from byte ``start`` on."""

    def __init__(
        self, source: ReadableBytes, start: int, shape: Shape, dtype: np.dtype[Any], place: str, stop: int | None = None
    ) -> None:
        super().__init__(shape, dtype, place)
        self._source = source
        self._start = start
        self._row = prod(shape[1:]) * dtype.itemsize
        there = (source.size if stop is None else stop) - start
        if there < self._row * shape[0]:
            wanted = f"{self._row * shape[0]} bytes for shape {shape} of {dtype}"
            raise DataError(f"{place}: expected {wanted}, got {max(there, 0)}; it is truncated: write it anew")

    def rows(self, lo: int, hi: int) -> NDArray[Any]:
        """The rows ``lo`` to ``hi`` (excluded)."""
        content = self._source.read(self._start + lo * self._row, self._start + hi * self._row)
        return np.frombuffer(content, self.dtype).reshape(hi - lo, *self.shape[1:])
