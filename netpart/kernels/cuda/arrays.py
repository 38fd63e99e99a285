"""Copies and sums of whole arrays and of strided views of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from netpart.kernels import arrays
from netpart.kernels.activation import Kind
from netpart.kernels.cuda.launch import BLOCK, MOST, KernelLaunch, LaunchScratch
from netpart.kernels.cuda.moves import MoveVerbs
from netpart.kernels.cuda.operand import row_major_steps
from netpart.kernels.cuda.packed_views import DescribedArray, pack_views, view_batches
from netpart.kernels.cuda.view import collapsed_views
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING

ONE = 1024
"""The most threads of a launch with a single block."""


class Arrays(arrays.Arrays, MoveVerbs):
    """dst and src: one shape, each possibly a strided view; zero and copy take any dtype."""

    def zero(self, dst: Array) -> Op:
        """dst = 0."""
        return self.zeroed(dst)

    def copy(self, dst: Array, src: Array) -> Op:
        """dst = src, which may be dst itself. Raises ValueError unless they have one dtype."""
        return self.copied(dst, src)

    def take(self, dst: Array, own: Array | None = None, start: int | None = None) -> Callable[[Array], None]:
        """The function that writes the message of each call to dst; with ``own``, own + message.

        Of the message it reads dst's number of elements from element ``start`` on; None: all. All parameters of the
        launch are bound before, except the message's address. Raises ValueError for sums of other dtypes than floats.
        """
        if not dst.size:
            return NOTHING.run
        if own is not None and dst.dtype.kind != "f":
            raise ValueError(f"take: expected float32 or float64 to add up, got {dst.dtype}")
        item = int(dst.itemsize)
        addends = [] if own is None else [own]
        message = DescribedArray(
            dst.shape, tuple(step * item for step in row_major_steps(dst.shape)), (start or 0) * item, item
        )
        *given, source = collapsed_views(dst, *addends, message)
        name = "add" if addends else "copy"
        first = message.start
        address = source.value["data"]
        launch = self.elements("arrays.cu", f"{name}_{8 * item}", dst.size, *given, source)
        assert launch is not None

        def run(message: Array) -> None:
            # A view of the bound parameter, which a launch copies when it is enqueued.
            address[...] = message.data.ptr + first
            launch({})

        return run

    def add(self, dst: Array, src: Array) -> Op:
        """dst += src."""
        return self.total(dst, [dst, src])

    def total(self, dst: Array, srcs: Sequence[Array], activation: Kind | None = None) -> Op:
        """dst = activation(the sum of ``srcs``), added in the order of the list; dst may be the first of them.

        The sum of no arrays is 0. The activation is one that may overwrite its input, or None. Each array may have a
        shape that broadcasts.
        """
        srcs = [src if src.shape == dst.shape else self.xp.broadcast_to(src, dst.shape) for src in srcs]
        *some, last = view_batches(dst, srcs)
        sums = [self._sum(dst, turn, "none") for turn in some]
        return self.launches(*sums, self._sum(dst, last, activation or "none"))

    def _sum(self, dst: Array, srcs: Sequence[Array], kind: str) -> KernelLaunch | None:
        if not dst.size:
            return None
        target, *sources = collapsed_views(dst, *srcs)
        return self.elements("arrays.cu", f"total_{kind}", dst.size, target, pack_views(sources), len(srcs))

    def bring_in(self, dst: Array, total: Array, start: Array, count: int) -> Op:
        """total /= ``count``, and dst = total + (dst - start)."""
        return self.launches(
            self.elements("arrays.cu", "bring_in", dst.size, *collapsed_views(dst, total, start), count)
        )

    def add_squares(self, dst: Array, src: Array) -> Op:
        """dst += the sum of the squares of ``src``; dst is float64 of shape (1,), and all sums are in float64."""
        if not src.size:
            return NOTHING
        blocks = min(-(-src.size // (8 * BLOCK)), MOST)
        parts = LaunchScratch((blocks,), np.float64)
        return self.launches(
            self.bound("arrays.cu", "squares", src.size, *collapsed_views(src), parts, src.size, grid=blocks),
            self.bound("arrays.cu", "add_parts", 1, dst, parts, blocks, block=min(ONE, -(-blocks // 32) * 32)),
        )
