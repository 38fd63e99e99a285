"""The weights of a convolution at the points of Winograd's filtering, and their gradients.

w (F, C, r, ...)  ⇄  taps (r, F, C, ...)  ⇄  points (6, F, C, ...)  ⇄  blocked: each in the order of a primitive

w and blocked may each be float32 or bfloat16; what is between them is float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from netpart.kernels.onednn.calls import Calls, Piece
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc, dense_strides
from netpart.kernels.onednn.names import Arg
from netpart.kernels.onednn.primitive import PrimitiveDesc
from netpart.kernels.onednn.winograd_tiles import POINTS
from netpart.kernels.op import Array


def point_weight_bytes(w: Array) -> float:
    """Bytes of the temporaries of PointWeights at most: the taps, and twice the points, in float32."""
    return float(4 * w.size * (1 + 2 * POINTS / w.shape[2]))


class PointWeights:
    """The weights ``w``, or their gradient, and ``blocked``: them at the points, each in the memory order ``order`` of
    elements of ``dtype``.

    ``spare`` has as many elements, in float32; ``spread`` and ``gather`` overwrite it.
    """

    def __init__(self, calls: Calls, w: Array, order: MemoryDesc, dtype: np.dtype[Any]) -> None:
        filters, channels, self.count, *rest = w.shape
        self.calls = calls
        self.order = order
        self.dense = dense_strides((filters, channels, 1, *rest))
        self.plain = MemoryDesc.strided((filters, channels, 1, *rest), self.dense)
        self.size = w.size // self.count
        self.w = DnnlMemory(MemoryDesc.of(w), w)
        turned = [*self.dense[:2], self.size, *self.dense[3:]]
        self.taps = calls.temporary(MemoryDesc.strided(w.shape, turned))
        # Blocked orders may be padded: they take at least as much as plain ones.
        size = POINTS * order.nbytes // dtype.itemsize
        names = dtype.name, "float32"
        self.blocked, self.spare = (calls.temporary(MemoryDesc.strided((size,), (1,), name)) for name in names)

    def piece(self, blocked: DnnlMemory) -> Piece:
        """The points in ``blocked``, one after another."""
        return Piece(blocked, 0, self.order.nbytes)

    def spread(self, matrix: Array) -> None:
        """Append ``blocked`` = matrix (points, taps) · w."""
        self.calls.reorder(self.w, self.taps)
        self._product(matrix, (self.taps, self.count), (self.spare, POINTS))
        self._reorder((Arg.SRC, self._plain_piece(), self.plain), (Arg.DST, self.piece(self.blocked), self.order))

    def gather(self, matrix: Array) -> None:
        """Append w = matrix (taps, points) · ``blocked``."""
        self._reorder((Arg.SRC, self.piece(self.blocked), self.order), (Arg.DST, self._plain_piece(), self.plain))
        self._product(matrix, (self.spare, POINTS), (self.taps, self.count))
        self.calls.reorder(self.taps, self.w)

    def _rows(self, rows: int) -> MemoryDesc:
        return MemoryDesc.strided((rows, self.size), (self.size, 1))

    def _plain_piece(self) -> Piece:
        return Piece(self.spare, 0, self.plain.nbytes)

    def _product(self, matrix: Array, source: tuple[DnnlMemory, int], target: tuple[DnnlMemory, int]) -> None:
        factor = DnnlMemory.of(np.ascontiguousarray(matrix))
        desc = PrimitiveDesc("matmul", factor.desc, self._rows(source[1]), None, self._rows(target[1]))
        self.calls.repeat(
            desc, {Arg.SRC: Piece(factor), Arg.WEIGHTS: Piece(source[0]), Arg.DST: Piece(target[0])}
        )  # fmt: skip

    def _reorder(self, *ends: tuple[Arg, Piece, MemoryDesc]) -> None:
        desc = PrimitiveDesc("reorder", *(order for *_, order in ends))
        self.calls.repeat(desc, {arg: piece for arg, piece, _ in ends}, POINTS)
