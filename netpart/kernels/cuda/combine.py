"""Sums, products and maxima of several arrays that are broadcast as in numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from netpart.kernels import combine
from netpart.kernels.combine import stretched_axes
from netpart.kernels.cuda.launch import BLOCK, KernelLaunch, LaunchScratch
from netpart.kernels.cuda.launch import MOST as MOST_BLOCKS
from netpart.kernels.cuda.moves import MoveVerbs
from netpart.kernels.cuda.packed_views import MOST, pack_views, select_axes, view_batches
from netpart.kernels.cuda.view import StridedView, collapsed_views
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING

BUSY = 264
"""The blocks that keep a GPU busy: with fewer, sums are divided among more blocks."""
LONG = 16
"""The least addends of a thread that are worth another block."""


class Combine(combine.Combine, MoveVerbs):
    """xs: arrays of one rank; y and dy: their common broadcast shape; dx: the shape of its x."""

    def fold(self, dst: Array, src: Array) -> Op:
        """dst = src, summed over the axes on which only dst has extent 1: the gradient of broadcasting."""
        return self._fold(dst, [src]) if stretched_axes(dst, src) else self.copied(dst, src)

    def multiply(self, y: Array, xs: Sequence[Array]) -> Op:
        """y = the product of ``xs``."""
        return self.launches(*(self._times(y, turn) for turn in view_batches(y, xs)))

    def multiply_gradient(self, xs: Sequence[Array], k: int, dy: Array, dx: Array) -> Op:
        """Overwrite dx with the gradient of ``xs[k]``: dy times the other factors.

        Raises ValueError if dx is broadcast and there are more factors than one kernel takes.
        """
        factors = [dy, *(x for j, x in enumerate(xs) if j != k)]
        if not stretched_axes(dx, dy):
            return self.multiply(dx, factors)
        if len(factors) > MOST:
            raise ValueError(f"multiply_gradient: expected at most {MOST} factors, got {len(factors)}")
        return self._fold(dx, factors)

    def maximum(self, y: Array, xs: Sequence[Array], arg: Array) -> Op:
        """y = the maximum of ``xs``; ``arg`` (y's shape, uint8): the index of the first of them that has it."""
        if not y.size:
            return NOTHING
        launches = []
        for first in range(0, len(xs), MOST):
            turn = xs[first : first + MOST]
            most, number, *sources = self._stretched(y, arg, *turn)
            args = most, number, pack_views(sources), len(turn), first, y.size
            launches.append(self.bound("combine.cu", "maximum", y.size, *args))
        return self.launches(*launches)

    def maximum_gradient(self, arg: Array, k: int, dy: Array, dx: Array) -> Op:
        """Overwrite dx with the gradient of ``xs[k]``: dy where ``xs[k]`` was the maximum, else 0."""
        return self._summed("fold_won", dx, [arg, dy], lambda kept, summed: (kept[0], summed[0], kept[1], summed[1], k))

    def _times(self, y: Array, xs: Sequence[Array]) -> KernelLaunch | None:
        if not y.size:
            return None
        target, *sources = self._stretched(y, *xs)
        return self.elements("combine.cu", "multiply", y.size, target, pack_views(sources), len(xs))

    def _stretched(self, y: Array, *xs: Array) -> list[StridedView]:
        """Views of all arrays in the shape of y."""
        return collapsed_views(y, *(self.xp.broadcast_to(x, y.shape) for x in xs))

    def _fold(self, dst: Array, factors: Sequence[Array]) -> Op:
        """dst = the product of ``factors``, the first of which has all axes, summed over the axes that dst lacks."""
        operands = [factors[0], *(self.xp.broadcast_to(x, factors[0].shape) for x in factors[1:])]
        return self._summed(
            "fold_product", dst, operands, lambda kept, summed: (pack_views(kept), pack_views(summed), len(operands))
        )

    def _summed(
        self,
        name: str,
        dst: Array,
        operands: Sequence[Array],
        args: Callable[[list[StridedView], list[StridedView]], tuple[Any, ...]],
    ) -> Op:
        """The Op of the kernel ``name``, which sums its operands over the axes on which dst has extent 1."""
        if not dst.size or not operands[0].size:
            return self.zeroed(dst)
        shape = operands[0].shape
        gone = stretched_axes(dst, operands[0])
        left = [axis for axis in range(len(shape)) if axis not in gone]
        target, *kept = collapsed_views(select_axes(dst, left), *(select_axes(x, left) for x in operands))
        summed = collapsed_views(*(select_axes(x, gone) for x in operands))
        outer = prod(shape[axis] for axis in left)
        inner = prod(shape[axis] for axis in gone)
        block = _fold_threads(_neighbour_distance(kept[0]) < _neighbour_distance(summed[0]), inner)
        grid = -(-outer // block[0]), 1
        parts = max(1, min(BUSY // grid[0], inner // (block[1] * LONG)))
        spare = LaunchScratch((parts * outer if parts > 1 else 0,), self.dtype)
        given = target, spare, *args(kept, summed), outer, inner
        fold = self.bound("combine.cu", name, outer, *given, block=block, grid=(min(grid[0], MOST_BLOCKS), parts))
        rest = self.bound("combine.cu", "fold_parts", outer, target, spare, parts, outer) if parts > 1 else None
        return self.launches(fold, rest)


def _neighbour_distance(view: StridedView) -> int:
    """The distance of neighbours on the last axis of ``view``."""
    return abs(int(view.value["stride"][int(view.value["rank"]) - 1]))


def _fold_threads(across: bool, inner: int) -> tuple[int, int]:
    """The threads of a block along the kept elements and along the ``inner`` elements that are summed.

    Neighbouring threads read neighbouring elements: kept ones if ``across``, else summed ones.
    """
    most = 1 << (inner - 1).bit_length()
    return (32, min(16, most)) if across else (BLOCK // min(BLOCK, most), min(BLOCK, most))
