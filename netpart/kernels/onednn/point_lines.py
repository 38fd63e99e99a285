"""Products of small matrices and whole lines: from the lines of a tensor to the points of its tiles, and back.

A line is what a channels-last tensor has at one index of its first spatial axis, of one image. The points of a strip
are (points, images, tiles, line): all tiles of a point are a tensor of their own.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod

import numpy as np

from netpart.kernels.onednn.calls import Calls, Piece
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc
from netpart.kernels.onednn.names import Arg
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.onednn.winograd_tiles import POINTS
from netpart.kernels.op import Array
from netpart.spec import Shape

FLOAT = 4


@dataclass(frozen=True)
class Strip:
    """Some images, from index ``image`` on, and some tiles of each, from index ``tile`` on."""

    image: int
    tile: int
    images: int
    tiles: int


class PointLines:
    """The lines of ``memory``, a channels-last tensor of ``shape``, and room for the points of a strip of them."""

    def __init__(self, calls: Calls, memory: DnnlMemory, shape: Shape, strip: Strip) -> None:
        self.calls = calls
        self.memory = memory
        self.lines = shape[2]
        self.line = shape[1] * prod(shape[3:])
        self.size = strip.images * strip.tiles * self.line
        self.products: dict[Hashable, PrimitiveDesc] = {}
        self.factors: dict[tuple[Shape, bytes], DnnlMemory] = {}
        self.points = calls.temporary(MemoryDesc.strided((POINTS, self.size), (self.size, 1)))

    @property
    def piece(self) -> Piece:
        """The points, one after another."""
        return Piece(self.points, 0, self.size * FLOAT)

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
        """``matrix`` as an argument of products."""
        numbers = matrix.tobytes()
        if (matrix.shape, numbers) not in self.factors:
            self.factors[matrix.shape, numbers] = DnnlMemory.of(np.ascontiguousarray(matrix)[None])
        return self.factors[matrix.shape, numbers]

    def _describe(self, shape: Shape, strip: Strip, gathers: bool, post: Attributes | None) -> PrimitiveDesc:
        """The product of a matrix of ``shape``: of points of a strip if it ``gathers``, else of lines."""
        lines = MemoryDesc.strided(
            (strip.images, shape[not gathers], self.line), (self.lines * self.line, self.line, 1)
        )
        tile = MemoryDesc.strided((strip.images, POINTS, self.line), (strip.tiles * self.line, self.size, 1))
        ends = (tile, lines) if gathers else (lines, tile)
        factor = MemoryDesc.of(np.empty((1, *shape), np.float32))
        return PrimitiveDesc("matmul", factor, ends[0], None, ends[1], attributes=post)

    def _span(self, strip: Strip, span: tuple[int, int]) -> Piece:
        """Lines ``span`` of each image of the strip: (images, lines, line)."""
        return Piece(self.memory, (strip.image * self.lines + span[0]) * self.line * FLOAT)

    def _tile(self, tile: int) -> Piece:
        """The points of a tile of each image: (images, points, line)."""
        return Piece(self.points, tile * self.line * FLOAT)
