"""Convolution with fewer products: Winograd's minimal filtering along the first spatial axis.

    y  = A [ (G w) * (B x) ]             dx: the same from dy, with w turned round along the axis
    dw = Gᵀ [ the gradient of * by its weights, at (B x, Aᵀ dy) ]

Along that axis a tile of lines becomes six points (``winograd_tiles.py``). * is a convolution over the other axes, one
for each point, as fast as any. A, B and G are small products over whole lines, as fast as reading memory. Tiles are
computed in strips of equal shapes: what is between two steps stays in the cache, and takes little memory.

The points of bfloat16 tensors are bfloat16 as well; weights are transformed in float32. The error of an output is then
about five times that of its rounding alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np

from netpart.kernels.bfloat16 import is_bfloat16
from netpart.kernels.onednn.activation_calls import add_binary
from netpart.kernels.onednn.calls import Calls, Piece, Pieces
from netpart.kernels.onednn.convolution_descs import ConvolutionDescs
from netpart.kernels.onednn.library import load_onednn
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc
from netpart.kernels.onednn.names import Algorithm, Arg
from netpart.kernels.onednn.point_lines import PointLines, Strip
from netpart.kernels.onednn.point_weights import PointWeights, point_weight_bytes
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.onednn.winograd_tiles import ONE, POINTS, TAPS, LineTiles, equal_strip, weight_matrix
from netpart.kernels.op import Array, Window

BYTES = 8 << 20
"""Bytes of the points of a strip, which fit the cache that all threads share."""
RATE = 44
"""Multiplications and additions in float32 that take as long as one more element that is moved: measured, with a
margin. In bfloat16 there are twice as many, as an element takes no less time."""
PASSES, NARROW_PASSES = 14, 40
"""Elements that are moved for each weight; the latter if weights, or their gradient, are float32 and tensors not."""
ROOM = 40 << 20
"""Bytes that weights at points may take, unless they are small compared with the tensors."""


def winograd_pays(x: Array, w: Array, y: Array, window: Window, groups: int) -> bool:
    """True if it is possible, takes little memory, and the products that are saved take longer than the transforms."""
    if groups > 1 or not x.size or not y.size or not _slides(window) or not _is_transformed(x):
        return False
    if point_weight_bytes(w) > max(ROOM, 2 * (x.nbytes + y.nbytes)):
        return False
    tiles = _line_tiles(x, y, window)
    saved = 2 * prod(w.shape[1:]) * y.size * tiles.saved if tiles.fits else 0
    rate = 2 * RATE if is_bfloat16(x) else RATE
    passes = PASSES if w.dtype == x.dtype else NARROW_PASSES
    moved = 2 * POINTS / tiles.step * (x.size + y.size)  # the points of each tile are written and read
    return bool(saved > rate * (moved + passes * w.size))


def _line_tiles(x: Array, y: Array, window: Window) -> LineTiles:
    return LineTiles(x.shape[2], y.shape[2], window.pads[0][0], window.kernel[0])


def _is_transformed(x: Array) -> bool:
    """True for elements whose products take long enough for transforms to pay: not for bfloat16 with AMX."""
    return x.dtype == np.float32 or (is_bfloat16(x) and not load_onednn().has_matrix_unit)


def _slides(window: Window) -> bool:
    """True if a filter of some elements moves by one element along the first axis, and there is another axis."""
    dense = not window.dilation or window.dilation[0] == 1
    return len(window.kernel) > 1 and window.kernel[0] in TAPS and window.stride[0] == 1 and dense


class WinogradCalls:
    """The calls of one convolution, added to ``calls``; the arrays are those of the verbs."""

    def __init__(self, calls: Calls, x: Array, w: Array, y: Array, window: Window) -> None:
        self.calls = calls
        self.x = x
        self.w = w
        self.y = y
        self.window = window
        self.tiles = _line_tiles(x, y, window)
        self.matrix = weight_matrix(self.tiles.taps)

    def forward(self, b: Array | None, post: Attributes) -> None:
        """Append y = post(w * x + b)."""
        strip = self._first_strip(self.tiles, BYTES)
        desc = self._problem(strip, b).forward()
        fixed = self._spread_weights(desc, self.matrix)
        if b is not None:
            biases: Array = np.zeros((POINTS, len(b)), np.float32)
            self.calls.then(lambda: np.copyto(biases[ONE], b))
            fixed[Arg.BIAS] = Piece(DnnlMemory.of(biases), 0, biases[ONE].nbytes)
        self._filter(desc, {Arg.SRC: self.x, Arg.DST: self.y}, fixed, self.tiles, strip, post)

    def data(self) -> None:
        """Append x = the gradient of x from that of y."""
        tiles = self.tiles.turned()
        strip = self._first_strip(tiles, BYTES)
        desc = self._problem(strip).data()
        fixed = self._spread_weights(desc, self.matrix[:, ::-1])
        self._filter(desc, {Arg.DIFF_DST: self.y, Arg.DIFF_SRC: self.x}, fixed, tiles, strip, Attributes())

    def weights(self) -> None:
        """Append w = the gradient of w from x and the gradient of y."""
        calls = self.calls
        first, *others = self._strips(self.tiles, self._first_strip(self.tiles, max(BYTES, 2 * self.w.nbytes)))
        desc = self._problem(first).gradient()
        below, above = (self._lines(array, self._dense(array), first) for array in (self.x, self.y))
        weights = PointWeights(calls, self.w, desc.arg(Arg.DIFF_WEIGHTS), np.dtype(np.float32))
        total, part = weights.blocked, weights.spare
        for strip in (first, *others):
            made = total if strip is first else part
            for tile in range(strip.tiles):
                lines = self.tiles.tile(strip.tile + tile)
                below.spread(lines.from_inputs(), strip, tile, lines.inputs)
                above.spread(lines.to_outputs().T, strip, tile, lines.outputs)
            moved: Pieces = {Arg.SRC: below.piece, Arg.DIFF_DST: above.piece, Arg.DIFF_WEIGHTS: weights.piece(made)}
            calls.repeat(desc, moved, POINTS)
            if strip is not first:
                add_binary(calls, Algorithm.BINARY_ADD, total, part, total)
        weights.gather(self.matrix.T)

    def _filter(
        self, desc: PrimitiveDesc, ends: dict[Arg, Array], fixed: Pieces, tiles: LineTiles, first: Strip,
        post: Attributes,
    ) -> None:  # fmt: skip
        """Append the convolution ``desc`` of the first of ``ends`` to the second one, strip by strip."""
        calls = self.calls
        (read, source), (written, target) = ends.items()
        whole = DnnlMemory.of(target)
        made = calls.target(whole, MemoryDesc.last(target.shape, target.dtype.name))
        below = self._lines(source, self._dense(source), first)
        above = self._lines(target, made, first)
        moved: Pieces = {**fixed, read: below.piece, written: above.piece}
        for strip in self._strips(tiles, first):
            found = [tiles.tile(strip.tile + tile) for tile in range(strip.tiles)]
            for tile, lines in enumerate(found):
                below.spread(lines.from_inputs(), strip, tile, lines.inputs)
            calls.repeat(desc, moved, POINTS)
            for tile, lines in enumerate(found):
                above.gather(lines.to_outputs(), strip, tile, lines.outputs, post)
        calls.reorder(made, whole)

    def _spread_weights(self, desc: PrimitiveDesc, matrix: Array) -> Pieces:
        """Append the weights at all points, in the order that ``desc`` wants."""
        weights = PointWeights(self.calls, self.w, desc.arg(Arg.WEIGHTS), self.x.dtype)
        weights.spread(matrix)
        return {Arg.WEIGHTS: weights.piece(weights.blocked)}

    def _problem(self, strip: Strip, b: Array | None = None) -> ConvolutionDescs:
        """The convolution over the other axes, of one point of a strip."""
        x, y = (np.empty((strip.images, a.shape[1], strip.tiles, *a.shape[3:]), a.dtype) for a in (self.x, self.y))
        w: Array = np.empty((*self.w.shape[:2], 1, *self.w.shape[3:]), np.float32)
        window = self.window
        dilation = window.dilation and (1, *window.dilation[1:])
        flat = Window((1, *window.kernel[1:]), window.stride, ((0, 0), *window.pads[1:]), dilation)
        return ConvolutionDescs(x, w, b, y, flat, 1)

    def _first_strip(self, tiles: LineTiles, space: int) -> Strip:
        """The first of equal strips of which the points fit ``space`` bytes."""
        line = sum(a.shape[1] * prod(a.shape[3:]) * a.itemsize for a in (self.x, self.y))
        return Strip(0, 0, *equal_strip(len(self.x), tiles.count, POINTS * line, space))

    def _strips(self, tiles: LineTiles, first: Strip) -> Iterator[Strip]:
        """All strips, of the extents of the first one."""
        places = product(range(0, len(self.x), first.images), range(0, tiles.count, first.tiles))
        return (Strip(image, tile, first.images, first.tiles) for image, tile in places)

    def _dense(self, array: Array) -> DnnlMemory:
        """``array``, or a copy of it, in channels-last order."""
        return self.calls.ordered(DnnlMemory.of(array), MemoryDesc.last(array.shape, array.dtype.name))

    def _lines(self, array: Array, memory: DnnlMemory, strip: Strip) -> PointLines:
        return PointLines(self.calls, memory, array, strip)
