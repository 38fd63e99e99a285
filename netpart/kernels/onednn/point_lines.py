"""Products of small matrices and whole lines: from the lines of a tensor to the points of its tiles, and back.

A line is what a channels-last tensor has at one index of its first spatial axis, of one image. The points of a strip
are (points, images, tiles, line): all tiles of a point are a tensor of their own.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod

import numpy as np

from netpart.kernels.bfloat16 import ELEMENT, rounded
from netpart.kernels.onednn.calls import Calls, Piece
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc
from netpart.kernels.onednn.names import Arg
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.onednn.winograd_tiles import POINTS
from netpart.kernels.op import Array
from netpart.spec import Shape


@dataclass(frozen=True)
class Strip:
    """Some images, from index ``image`` on, and some tiles of each, from index ``tile`` on."""

    image: int
    tile: int
    images: int
    tiles: int


class PointLines:
    """The lines of ``memory``, a channels-last tensor like ``array``, and room for the points of a strip of them.

    Points have the element type of the lines.
    """

    def __init__(self, calls: Calls, memory: DnnlMemory, array: Array, strip: Strip) -> None:
        self.calls = calls
        self.memory = memory
        self.dtype = array.dtype
        self.lines = array.shape[2]
        self.line = array.shape[1] * prod(array.shape[3:])
        self.size = strip.images * strip.tiles * self.line
        self.products: dict[Hashable, PrimitiveDesc] = {}
        self.factors: dict[tuple[Shape, bytes], DnnlMemory] = {}
        self.points = calls.temporary(self._strided((POINTS, self.size), (self.size, 1)))

    @property
    def piece(self) -> Piece:
        """The points, one after another."""
        return Piece(self.points, 0, self.size * self.dtype.itemsize)

    def spread(self, matrix: Array, strip: Strip, tile: int, span: tuple[int, int]) -> None:
        """Append the points of tile ``tile`` of the strip = ``matrix`` (points, lines) · its lines ``span``."""
        self._map(matrix, strip, self._span(strip, span), self._tile(tile))

    def gather(self, matrix: Array, strip: Strip, tile: int, span: tuple[int, int], post: Attributes) -> None:
        """Append lines ``span`` = post(``matrix`` (lines, points) · the points of tile ``tile`` of the strip)."""
        self._map(matrix, strip, self._tile(tile), self._span(strip, span), post)

    def _map(self, matrix: Array, strip: Strip, source: Piece, target: Piece, post: Attributes | None = None) -> None:
        """Append ``target`` = post(``matrix`` · ``source``). Most tiles and strips are alike, and so are their
        products; ``post`` is the same in all calls of a direction."""
        alike = source.whole is self.points, matrix.shape, strip.images, strip.tiles
        if alike not in self.products:
            self.products[alike] = self._describe(matrix.shape, strip, source.whole is self.points, post)
        factor = self._factor(matrix)
        self.calls.repeat(self.products[alike], {Arg.SRC: Piece(factor), Arg.WEIGHTS: source, Arg.DST: target})

    def _factor(self, matrix: Array) -> DnnlMemory:
        """``matrix`` as an argument of products; bfloat16 holds its numbers exactly."""
        key = matrix.shape, matrix.tobytes()
        if key not in self.factors:
            dense = np.ascontiguousarray(matrix)[None]
            self.factors[key] = DnnlMemory.of(rounded(dense) if self.dtype == ELEMENT else dense)
        return self.factors[key]

    def _describe(self, shape: Shape, strip: Strip, gathers: bool, post: Attributes | None) -> PrimitiveDesc:
        """The product of a matrix of ``shape``: of points of a strip if it ``gathers``, else of lines."""
        lines = self._strided((strip.images, shape[not gathers], self.line), (self.lines * self.line, self.line, 1))
        tile = self._strided((strip.images, POINTS, self.line), (strip.tiles * self.line, self.size, 1))
        ends = (tile, lines) if gathers else (lines, tile)
        factor = MemoryDesc.of(np.empty((1, *shape), self.dtype))
        return PrimitiveDesc("matmul", factor, ends[0], None, ends[1], attributes=post)

    def _strided(self, shape: Shape, strides: Shape) -> MemoryDesc:
        return MemoryDesc.strided(shape, strides, self.dtype.name)

    def _span(self, strip: Strip, span: tuple[int, int]) -> Piece:
        """Lines ``span`` of each image of the strip: (images, lines, line)."""
        return Piece(self.memory, (strip.image * self.lines + span[0]) * self.line * self.dtype.itemsize)

    def _tile(self, tile: int) -> Piece:
        """The points of a tile of each image: (images, points, line)."""
        return Piece(self.points, tile * self.line * self.dtype.itemsize)
