"""Sums, products and maxima of several arrays whose extents of 1 are stretched, as numpy broadcasts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs, same_memory


class Combine(Verbs):
    """xs: arrays of one rank, y and dy of the shape that they make together; dx of the shape of its x."""

    def fold(self, dst: Array, src: Array) -> Op:
        """dst = src, added up over the axes on which dst has extent 1: the gradient of stretching.

        Where there is nothing to add up dst may be src.
        """
        axes = stretched_axes(dst, src)
        if not axes and same_memory(dst, src):
            return NOTHING
        return Op(lambda: sum_axes(self.xp, dst, src, axes))

    def multiply(self, y: Array, xs: Sequence[Array]) -> Op:
        """y = the product of ``xs``."""

        def run() -> None:
            self.xp.copyto(y, xs[0])
            for x in xs[1:]:
                self.xp.multiply(y, x, out=y)

        return Op(run)

    def multiply_gradient(self, xs: Sequence[Array], k: int, dy: Array, dx: Array) -> Op:
        """Overwrites dx with the gradient of ``xs[k]``: dy times the other factors."""
        axes = stretched_axes(dx, dy)
        others = [x for j, x in enumerate(xs) if j != k]

        def run(part: Array) -> None:
            self.xp.copyto(part, dy)
            for x in others:
                self.xp.multiply(part, x, out=part)
            sum_axes(self.xp, dx, part, axes)

        return Op(run, [(dy.shape, self.dtype)])

    def maximum(self, y: Array, xs: Sequence[Array], arg: Array) -> Op:
        """y = the largest of ``xs``; ``arg`` (y's shape, uint8): the first of them that has it."""
        numbers = self.xp.arange(len(xs), dtype=arg.dtype).reshape(-1, 1)

        def run(better: Array) -> None:
            self.xp.copyto(y, xs[0])
            arg.fill(0)
            for x, number in zip(xs[1:], numbers[1:], strict=True):
                self.xp.greater(x, y, out=better)
                self.xp.copyto(arg, number, where=better)
                self.xp.maximum(x, y, out=y)

        return Op(run, [(y.shape, bool)])

    def maximum_gradient(self, arg: Array, k: int, dy: Array, dx: Array) -> Op:
        """Overwrites dx with the gradient of ``xs[k]``: dy where it had the maximum."""
        axes = stretched_axes(dx, dy)

        def run(won: Array, part: Array) -> None:
            self.xp.equal(arg, k, out=won)
            part.fill(0)
            self.xp.copyto(part, dy, where=won)
            sum_axes(self.xp, dx, part, axes)

        return Op(run, [(dy.shape, bool), (dy.shape, self.dtype)])


def sum_axes(xp: Any, dst: Array, src: Array, axes: tuple[int, ...]) -> None:
    """Writes ``src``, added up over ``axes``, to ``dst``, which has extent 1 there."""
    if axes:
        xp.sum(src, axis=axes, keepdims=True, out=dst)
    else:
        xp.copyto(dst, src)


def stretched_axes(dst: Array, src: Array) -> tuple[int, ...]:
    """The axes on which ``dst`` has extent 1 and ``src`` has not."""
    return tuple(a for a, (n, m) in enumerate(zip(dst.shape, src.shape, strict=True)) if n != m)
