"""Moves and sums of whole arrays and of strided views of them."""

from __future__ import annotations

from collections.abc import Sequence

from netpart.kernels.op import Array, Op, chain
from netpart.kernels.verbs import NOTHING, Verbs, blocks, front, same

SQUARED = {"numpy": 1 << 15}
"""Elements that are squared at a time: on a CPU as many float64 as fit the second-level cache."""


class Arrays(Verbs):
    """dst and src: one shape, each possibly a strided view; they share no memory if nothing else is said."""

    def zero(self, dst: Array) -> Op:
        """dst = 0."""
        return Op(lambda: dst.fill(0))

    def copy(self, dst: Array, src: Array) -> Op:
        """dst = src, which may be dst itself."""
        return NOTHING if same(dst, src) else Op(lambda: self.xp.copyto(dst, src))

    def add(self, dst: Array, src: Array) -> Op:
        """dst += src."""
        return Op(lambda: self.xp.add(dst, src, out=dst))

    def total(self, dst: Array, srcs: Sequence[Array]) -> Op:
        """dst = the sum of ``srcs``, added in the order of the list; 0 if it is empty. dst may be the first of them."""
        if not srcs:
            return self.zero(dst)

        if same(dst, srcs[0]):
            return chain(*(self.add(dst, src) for src in srcs[1:]))

        def run() -> None:
            self.xp.copyto(dst, srcs[0])
            for src in srcs[1:]:
                self.xp.add(dst, src, out=dst)

        return Op(run)

    def add_squares(self, dst: Array, src: Array) -> Op:
        """dst += the sum of the squares of ``src``; dst is float64 of shape (1,), and all is added up in float64."""
        pieces = [piece for (piece,) in blocks([src], SQUARED.get(self.xp.__name__, 1 << 22))]

        def run(wide: Array, part: Array) -> None:
            for piece in pieces:
                square = front(wide, *piece.shape)
                self.xp.copyto(square, piece)
                self.xp.multiply(square, square, out=square)
                self.xp.sum(square, axis=None, out=part.reshape(()))
                self.xp.add(dst, part, out=dst)

        largest = max((piece.size for piece in pieces), default=0)
        return Op(run, [((largest,), dst.dtype), ((1,), dst.dtype)])

    def upload(self, dst: Array, host: Array) -> Op:
        """Copies a contiguous numpy array of dst's shape and dtype to dst, on whatever device that is."""
        if hasattr(dst, "set"):
            return Op(lambda: dst.set(host))
        return Op(lambda: self.xp.copyto(dst, host))
