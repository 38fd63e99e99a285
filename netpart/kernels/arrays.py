"""Copies and sums of whole arrays and of strided views of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import setitem

from netpart.kernels.activation import Activation, Kind
from netpart.kernels.bfloat16 import is_bfloat16, write_converted, write_rounded
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.verbs import NOTHING, array_blocks, same_memory, scratch_view

SQUARED = {"numpy": 1 << 15}
"""Elements that are squared at a time, by array module: on a CPU as many float64 as fit the second-level cache."""


class Arrays(Activation):
    """dst and src: one shape, each possibly a strided view; they share no memory unless a verb allows it.

    ``zero``, ``copy``, ``take`` and ``add`` accept bfloat16 for each of their arrays, and add in float32.
    """

    def zero(self, dst: Array) -> Op:
        """dst = 0."""
        return Op(lambda: dst.fill(0))

    def copy(self, dst: Array, src: Array) -> Op:
        """dst = src, which may be dst itself."""
        if same_memory(dst, src):
            return NOTHING
        if is_bfloat16(dst) != is_bfloat16(src):
            return Op(partial(write_converted, dst, src))
        return Op(lambda: self.xp.copyto(dst, src))

    def take(self, dst: Array, own: Array | None = None, start: int | None = None) -> Callable[[Array], None]:
        """The function that writes the message of each call to dst; with ``own``, which may be dst, own + message.

        Of the message it reads dst's number of elements from element ``start`` on; None: all. A message is contiguous;
        its address may change from call to call.
        """
        add = self.xp.add

        def added(piece: Array) -> None:
            add(own, piece, dst)

        if is_bfloat16(dst):
            added = lambda piece: write_rounded(dst, add, own, piece)  # noqa: E731 - as above
        taken: Callable[[Array], None] = partial(setitem, dst, ...) if own is None else added
        if start is None:
            return taken
        shape = dst.shape
        piece = slice(start, start + dst.size)
        return lambda message: taken(message[piece].reshape(shape))

    def add(self, dst: Array, src: Array) -> Op:
        """dst += src; src may have a shape that broadcasts."""
        if is_bfloat16(dst) or is_bfloat16(src):
            return Op(partial(write_rounded, dst, self.xp.add, dst, self.xp.broadcast_to(src, dst.shape)))
        return Op(lambda: self.xp.add(dst, src, out=dst))

    def total(self, dst: Array, srcs: Sequence[Array], activation: Kind | None = None) -> Op:
        """dst = activation(the sum of ``srcs``), added in the order of the list; dst may be the first of them.

        The sum of no arrays is 0. The activation is one that may overwrite its input, or None. Each array may have a
        shape that broadcasts.
        """
        total = self._total(dst, srcs)
        return total if activation is None else chain_ops(total, self.activation(activation, dst, dst))

    def _total(self, dst: Array, srcs: Sequence[Array]) -> Op:
        # Called through the class: kernels that count operations count a total as one verb, not its parts as well.
        if not srcs:
            return Arrays.zero(self, dst)
        if same_memory(dst, srcs[0]):
            return chain_ops(*(Arrays.add(self, dst, src) for src in srcs[1:]))

        def run() -> None:
            self.xp.copyto(dst, srcs[0])
            for src in srcs[1:]:
                self.xp.add(dst, src, out=dst)

        return Op(run)

    def bring_in(self, dst: Array, total: Array, start: Array, count: int) -> Op:
        """total /= ``count``, and dst = total + (dst - start): the mean plus the change of dst since ``start``."""

        def run() -> None:
            self.xp.divide(total, count, out=total)
            self.xp.subtract(dst, start, out=dst)
            self.xp.add(total, dst, out=dst)

        return Op(run)

    def add_squares(self, dst: Array, src: Array) -> Op:
        """dst += the sum of the squares of ``src``; dst is float64 of shape (1,), and all sums are in float64."""
        pieces = [piece for (piece,) in array_blocks([src], SQUARED.get(self.xp.__name__, 1 << 22))]

        def run(wide: Array, part: Array) -> None:
            for piece in pieces:
                # Widened before it is squared: a square of float32 may overflow.
                square = scratch_view(wide, *piece.shape)
                self.xp.copyto(square, piece)
                self.xp.multiply(square, square, out=square)
                self.xp.sum(square, axis=None, out=part.reshape(()))
                self.xp.add(dst, part, out=dst)

        largest = max((piece.size for piece in pieces), default=0)
        return Op(run, [((largest,), dst.dtype), ((1,), dst.dtype)])
