"""Products of small matrices and whole lines: from the lines of a tensor to the points of its tiles, and back.

A line is what a channels-last tensor has at one index of its first spatial axis, of one image. The points of a strip
are (points, images, tiles, line): all tiles of a point are a tensor of their own.
"""

from __future__ import annotations

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
        self.points = calls.temporary(MemoryDesc.strided((POINTS, self.size), (self.size, 1)))

    @property
    def piece(self) -> Piece:
        """The points, one after another."""
        return Piece(self.points, 0, self.size * FLOAT)

    def spread(self, matrix: Array, strip: Strip, tile: int, span: tuple[int, int]) -> None:
        """Append the points of tile ``tile`` of the strip = ``matrix`` (points, lines) · its lines ``span``."""
        self._map(matrix, self._span(strip, span), self._tile(strip, tile), Attributes())

    def gather(self, matrix: Array, strip: Strip, tile: int, span: tuple[int, int], post: Attributes) -> None:
        """Append lines ``span`` = post(``matrix`` (lines, points) · the points of tile ``tile`` of the strip)."""
        self._map(matrix, self._tile(strip, tile), self._span(strip, span), post)

    def _map(
        self, matrix: Array, source: tuple[MemoryDesc, Piece], target: tuple[MemoryDesc, Piece], post: Attributes
    ) -> None:
        factor = DnnlMemory.of(np.ascontiguousarray(matrix)[None])
        desc = PrimitiveDesc("matmul", factor.desc, source[0], None, target[0], attributes=post)
        self.calls.repeat(desc, {Arg.SRC: Piece(factor), Arg.WEIGHTS: source[1], Arg.DST: target[1]})

    def _span(self, strip: Strip, span: tuple[int, int]) -> tuple[MemoryDesc, Piece]:
        """Lines ``span`` of each image of the strip: (images, lines, line)."""
        desc = MemoryDesc.strided(
            (strip.images, span[1] - span[0], self.line), (self.lines * self.line, self.line, 1)
        )  # fmt: skip
        return desc, Piece(self.memory, (strip.image * self.lines + span[0]) * self.line * FLOAT)

    def _tile(self, strip: Strip, tile: int) -> tuple[MemoryDesc, Piece]:
        """The points of a tile of each image: (images, points, line)."""
        desc = MemoryDesc.strided((strip.images, POINTS, self.line), (strip.tiles * self.line, self.size, 1))
        return desc, Piece(self.points, tile * self.line * FLOAT)
