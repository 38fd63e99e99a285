"""Moves and sums of whole arrays and of strided views of them."""

from __future__ import annotations

from netpart.kernels.cuda.launch import Fast, views
from netpart.kernels.op import Array, Op


class Arrays(Fast):
    """dst and src: one shape, each possibly a strided view."""

    def zero(self, dst: Array) -> Op:
        """dst = 0."""
        return self.launch("arrays.cu", "zero", dst.size, *views(dst), dst.size)
