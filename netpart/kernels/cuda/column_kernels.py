"""Tensors seen as matrices with a row for each place and a column for each channel, and sums of their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from netpart.kernels.cuda.launch import BLOCK, MOST, CudaVerbs, KernelLaunch, LaunchScratch, check_kernel_size
from netpart.kernels.op import Array, Op

AXES = 4
PLACES = np.dtype([("axes", "i8"), ("extent", "i8", AXES), ("stride", "i8", AXES), ("step", "i8")])
"""struct Places of places.cuh."""
TILE = np.dtype([(name, "i8") for name in ("segments", "rows", "columns", "parts", "lanes", "few")])
"""struct Tile of columns.cuh."""
FEW = 4
"""Neighbouring columns of a thread, if the columns are a multiple of it: the float32 that one load reads."""
LANES = 32
"""The most columns of a block: 128 bytes of a row, so that it has more than one row for each warp."""
DEEP = 4
"""The rows that a thread should add up before there are more blocks, of which there are at most WIDE."""
WIDE = 1584
"""The most blocks: whole waves of an H200 with three or with four blocks on each of its 132 multiprocessors."""
Struct = np.ndarray[Any, Any]


def places_struct(x: Array) -> Struct:
    """The strides of ``x`` (B, C, *S) as a matrix, row r (image and place), column c (channel), in the fewest axes."""
    step = [s // x.itemsize for s in x.strides]
    shape = x.shape
    merged = list[tuple[int, int]]()
    for axis in (0, *range(2, x.ndim)):
        if merged and merged[-1][0] == 1:
            merged[-1] = shape[axis], step[axis]
        elif merged and merged[-1][1] == shape[axis] * step[axis]:
            merged[-1] = merged[-1][0] * shape[axis], step[axis]
        elif shape[axis] != 1 or not merged:
            merged.append((shape[axis], step[axis]))
    return _fill_places(merged, step[1])


def with_places(x: Array | None) -> tuple[Array | None, Struct]:
    """A tensor, or None, and its ``places_struct``: two arguments of a kernel, which may be absent."""
    return x, np.zeros((), PLACES) if x is None else places_struct(x)


def spatial_places(x: Array, axes: int) -> Struct:
    """As ``places_struct``, of ``x`` (B, [C,] *S), with one axis for the images and three for the ``axes`` of space."""
    step = [s // x.itemsize for s in x.strides]
    space = list(zip(x.shape[-axes:], step[-axes:], strict=True))
    channel = step[1] if x.ndim == axes + 2 else 0
    return _fill_places([(x.shape[0], step[0]), *[(1, 0)] * (AXES - 1 - axes), *space], channel)


def _fill_places(axes: list[tuple[int, int]], step: int) -> Struct:
    found = np.zeros((), PLACES)
    found["axes"] = len(axes)
    found["extent"] = 1
    found["step"] = step
    for i, (extent, stride) in enumerate(axes):
        found["extent"][i] = extent
        found["stride"][i] = stride
    return found


def count_rows(x: Array) -> int:
    """The places of ``x`` (B, C, *S) in all images."""
    return int(x.size // x.shape[1]) if x.shape[1] else 0


@dataclass(frozen=True)
class ColumnTile:
    """The division of ``segments`` times ``rows`` rows of ``columns`` columns among blocks, the same on any device."""

    rows: int
    columns: int
    segments: int = 1
    parts: int = 1
    lanes: int = LANES
    few: int = 1

    @staticmethod
    def of(rows: int, columns: int, segments: int = 1) -> ColumnTile:
        """The tile with as many parts as keep a GPU busy. Raises ValueError for too many rows."""
        check_kernel_size(rows * segments, "rows of a tensor")
        few = 1 if columns % FEW else FEW
        lanes = min(LANES // few, 1 << max(0, columns // few - 1).bit_length())
        boxes = segments * max(1, -(-columns // (lanes * few)))
        parts = max(1, min(rows * lanes // (BLOCK * DEEP), WIDE // max(1, boxes)))
        return ColumnTile(rows, columns, segments, parts, lanes, few)

    @property
    def over_parts(self) -> ColumnTile:
        """The tile that adds up the sums of this one's parts."""
        return ColumnTile(self.parts, self.columns, self.segments, 1, min(self.lanes, 4))

    @property
    def whole(self) -> ColumnTile:
        """The same columns with one per thread, and all rows of a segment in one part."""
        lanes = min(LANES, 1 << max(0, self.columns - 1).bit_length())
        return ColumnTile(self.rows, self.columns, self.segments, 1, lanes)

    @property
    def grid(self) -> int:
        """The number of blocks of a launch."""
        return max(1, min(self.segments * self.parts * -(-self.columns // (self.lanes * self.few)), MOST))

    @property
    def size(self) -> int:
        """The number of sums; 0: there is nothing to do."""
        return self.segments * self.columns

    @property
    def value(self) -> Struct:
        """The struct of columns.cuh."""
        return np.array((self.segments, self.rows, self.columns, self.parts, self.lanes, self.few), TILE)


class ColumnVerbs(CudaVerbs):
    """Launches of kernels that process columns."""

    def along(self, file: str, name: str, tile: ColumnTile, *args: Any) -> KernelLaunch | None:
        """A kernel whose blocks divide ``tile``; its struct is among ``args``."""
        return self.bound(file, name, tile.size, *args, grid=tile.grid)

    def sums(
        self,
        file: str,
        begin: tuple[str, tuple[Any, ...]],
        end: tuple[str, tuple[Any, ...]],
        count: int,
        tile: ColumnTile,
    ) -> Op:
        """Add up ``count`` numbers for each column: kernel ``begin`` within parts, ``end`` over all parts.

        Kernels are (name, arguments); of ``begin`` (..., Tile, partial), of ``end`` (partial, Tile, ...).
        """
        partial = LaunchScratch((max(1, tile.segments * tile.parts * count * tile.columns),), np.float64)
        (first, given) = begin
        (last, wanted) = end
        return self.launches(
            self.along(file, first, tile, *given, tile.value, partial),
            self.along(file, last, tile.over_parts, partial, tile.over_parts.value, *wanted),
        )
