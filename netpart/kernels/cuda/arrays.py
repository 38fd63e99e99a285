"""Moves and sums of whole arrays and of strided views of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netpart.kernels import arrays
from netpart.kernels.activation import Kind
from netpart.kernels.cuda.launch import BLOCK, MOST, Launch, Scratch
from netpart.kernels.cuda.moves import Moves
from netpart.kernels.cuda.several import batches, several
from netpart.kernels.cuda.view import views
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING

ONE = 1024
"""Threads of a block that has all to itself."""


class Arrays(arrays.Arrays, Moves):
    """dst and src: one shape, each possibly a strided view; zero and copy take any dtype."""

    def zero(self, dst: Array) -> Op:
        """dst = 0."""
        return self.zeroed(dst)

    def copy(self, dst: Array, src: Array) -> Op:
        """dst = src, which may be dst itself. Raises ValueError unless they have one dtype."""
        return self.copied(dst, src)

    def add(self, dst: Array, src: Array) -> Op:
        """dst += src."""
        return self.total(dst, [dst, src])

    def total(self, dst: Array, srcs: Sequence[Array], activation: Kind | None = None) -> Op:
        """dst = activation(the sum of ``srcs``), added in the order of the list; dst may be the first of them.

        The sum of none is 0. The activation is one that may write over its input, or None. A shape may be one that
        broadcasts.
        """
        srcs = [src if src.shape == dst.shape else self.xp.broadcast_to(src, dst.shape) for src in srcs]
        *some, last = batches(dst, srcs)
        sums = [self._sum(dst, turn, "none") for turn in some]
        return self.launches(*sums, self._sum(dst, last, activation or "none"))

    def _sum(self, dst: Array, srcs: Sequence[Array], kind: str) -> Launch | None:
        if not dst.size:
            return None
        target, *sources = views(dst, *srcs)
        return self.elements("arrays.cu", f"total_{kind}", dst.size, target, several(sources), len(srcs))

    def add_squares(self, dst: Array, src: Array) -> Op:
        """dst += the sum of the squares of ``src``; dst is float64 of shape (1,), and all is added up in float64."""
        if not src.size:
            return NOTHING
        blocks = min(-(-src.size // (8 * BLOCK)), MOST)
        parts = Scratch((blocks,), np.float64)
        return self.launches(
            self.bound("arrays.cu", "squares", src.size, *views(src), parts, src.size, grid=blocks),
            self.bound("arrays.cu", "add_parts", 1, dst, parts, blocks, block=min(ONE, -(-blocks // 32) * 32)),
        )
