"""Sums, products and maxima of several arrays that are broadcast as in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs, same_memory


class Combine(Verbs):
    """xs: arrays of one rank; y and dy: their common broadcast shape; dx: the shape of its x."""

    def fold(self, dst: Array, src: Array) -> Op:
        """dst = src, summed over the axes on which only dst has extent 1: the gradient of broadcasting.

        If there is no such axis, dst may be src.
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
        """Overwrite dx with the gradient of ``xs[k]``: dy times the other factors."""
        axes = stretched_axes(dx, dy)
        others = [x for j, x in enumerate(xs) if j != k]

        def run(part: Array) -> None:
            self.xp.copyto(part, dy)
            for x in others:
                self.xp.multiply(part, x, out=part)
            sum_axes(self.xp, dx, part, axes)

        return Op(run, [(dy.shape, self.dtype)])

    def maximum(self, y: Array, xs: Sequence[Array], arg: Array) -> Op:
        """y = the maximum of ``xs``; ``arg`` (y's shape, uint8): the index of the first of them that has it."""
        # Arrays, as cupy casts no signed number to an unsigned one.
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
        """Overwrite dx with the gradient of ``xs[k]``: dy where ``xs[k]`` was the maximum, else 0."""
        axes = stretched_axes(dx, dy)

        def run(won: Array, part: Array) -> None:
            self.xp.equal(arg, k, out=won)
            part.fill(0)
            self.xp.copyto(part, dy, where=won)
            sum_axes(self.xp, dx, part, axes)

        return Op(run, [(dy.shape, bool), (dy.shape, self.dtype)])


def sum_axes(xp: Any, dst: Array, src: Array, axes: tuple[int, ...]) -> None:
    """Write ``src``, summed over ``axes``, to ``dst``, which has extent 1 there."""
    if axes:
        xp.sum(src, axis=axes, keepdims=True, out=dst)
    else:
        xp.copyto(dst, src)


def stretched_axes(dst: Array, src: Array) -> tuple[int, ...]:
    """The axes on which ``dst`` has extent 1 and ``src`` has another extent."""
    return tuple(a for a, (n, m) in enumerate(zip(dst.shape, src.shape, strict=True)) if n != m)
