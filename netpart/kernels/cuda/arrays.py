"""Moves and sums of whole arrays and of strided views of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from netpart.kernels import arrays
from netpart.kernels.activation import Kind
from netpart.kernels.cuda.launch import BLOCK, MOST, Fast, Launch, Scratch, View, views
from netpart.kernels.cuda.several import batches, several
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, same

WIDTHS = 16, 8, 4, 2, 1
"""Bytes that a thread moves at once, the most first."""
ONE = 1024
"""Threads of a block that has all to itself."""


class Arrays(arrays.Arrays, Fast):
    """dst and src: one shape, each possibly a strided view; zero and copy take any dtype."""

    def zero(self, dst: Array) -> Op:
        """dst = 0."""
        return self._moved("zero", dst)

    def copy(self, dst: Array, src: Array) -> Op:
        """dst = src, which may be dst itself. Raises ValueError unless they have one dtype."""
        if dst.dtype != src.dtype:
            raise ValueError(f"copy: expected arrays of one dtype, got {dst.dtype} and {src.dtype}")
        return NOTHING if same(dst, src) else self._moved("copy", dst, src)

    def _moved(self, name: str, *arrays: Array) -> Op:
        if not arrays[0].size:
            return NOTHING
        found, itemsize = views(*arrays), int(arrays[0].itemsize)
        width = next(width for width in WIDTHS if width <= itemsize or all(fits(one, itemsize, width) for one in found))
        times = width // itemsize
        size, wider = arrays[0].size // times, [View(one.array, widened(one.value, times)) for one in found]
        return self.launch("arrays.cu", f"{name}_{8 * width}", size, *wider, size)

    def add(self, dst: Array, src: Array) -> Op:
        """dst += src."""
        return self.total(dst, [dst, src])

    def total(self, dst: Array, srcs: Sequence[Array], activation: Kind | None = None) -> Op:
        """dst = activation(the sum of ``srcs``), added in the order of the list; dst may be the first of them.

        The sum of none is 0. The activation is one that may write over its input, or None.
        """
        *some, last = batches(dst, srcs)
        sums = [self._sum(dst, turn, "none") for turn in some]
        return self.launches(*sums, self._sum(dst, last, activation or "none"))

    def _sum(self, dst: Array, srcs: Sequence[Array], kind: str) -> Launch | None:
        if not dst.size:
            return None
        target, *sources = views(dst, *srcs)
        args = target, several(sources), len(srcs), dst.size
        return self.bound("arrays.cu", f"total_{kind}", dst.size, *args)

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

    def upload(self, dst: Array, host: Array) -> Op:
        """Copies a contiguous numpy array of dst's shape and dtype to dst: from what ``host`` holds at the time, so no
        CUDA graph repeats it."""
        return Op(lambda: dst.set(host), captured=False)


def fits(view: View, itemsize: int, width: int) -> bool:
    """True if what lies together in ``view`` is whole pieces of ``width`` bytes, each at a multiple of them."""
    rank, shape, steps = int(view.value["rank"]), view.value["shape"], view.value["stride"]
    pieces = [int(shape[rank - 1]), *(int(step) for step in steps[: rank - 1])]
    return (
        int(steps[rank - 1]) == 1
        and int(view.value["data"]) % width == 0
        and all(piece * itemsize % width == 0 for piece in pieces)
    )


def widened(value: np.ndarray[Any, Any], times: int) -> np.ndarray[Any, Any]:
    """The same struct of elements ``times`` as wide."""
    found, last = value.copy(), int(value["rank"]) - 1
    found["shape"][last] //= times
    found["stride"][:last] //= times
    return found
