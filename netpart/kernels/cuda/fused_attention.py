"""Scaled dot-product attention in one kernel forward and two backward, which keep no scores.

Dao, FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning, 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any

from netpart.kernels.cuda.launch import Bound, Fast, Scratch
from netpart.kernels.cuda.tiles import FULL, ROWS, WARPS, Tiles, best, candidates
from netpart.kernels.cuda.view import View, struct
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import place

FORWARD, GRADIENT = "fused_attention", "fused_attention_gradient"
"""Kernels, and the sources that have them."""


FMA = "Fma"
CORES = {"float32": FMA, "tf32": "TensorCores<Tf32>", "bfloat16": "TensorCores<Bf16>"}
"""By precision, the struct of the source that multiplies tiles."""


class FusedAttention(Fast):
    """q (..., T, D), k (..., S, D), v (..., S, E), y (..., T, E), kept (..., T), with S and all of y at least 1, and D
    and E at most WIDEST; ``kept``, in row-major order, is the logarithm of the sum of the exponentials of a query's
    scores."""

    def fused_attention(
        self, q: Array, k: Array, v: Array, y: Array, kept: Array, scale: float, first: int | None
    ) -> Op:  # fmt: skip
        """y = softmax(scale · q kᵀ) v; query i sees the keys up to ``first`` + i."""
        tiles = self._tiles(q, v, q, False)
        args = *map(_rows_first, (q, k, v, y)), kept, float(scale), _seen(first)
        return self.launches(self._tiled(FORWARD, tiles, _count(q, tiles), q, args))

    def fused_attention_gradient(
        self, q: Array, k: Array, v: Array, y: Array, kept: Array, dy: Array, dq: Array | None, dk: Array | None,
        dv: Array | None, scale: float, first: int | None,
    ) -> Op:  # fmt: skip
        """Overwrites the wanted gradients."""
        tiles, dots = self._tiles(k, v, q, True), Scratch(q.shape[:-1], self.dtype)
        of_keys = _count(k, tiles) if dk is not None or dv is not None else 0
        of_queries = _count(q, tiles) if dq is not None else 0
        arrays = *map(_rows_first, (q, k, v, dy)), kept, dots, *map(_rows_first, (dq, dk, dv))
        args = *arrays, of_keys, float(scale), _seen(first)
        gradients = self._tiled(GRADIENT, tiles, of_keys + of_queries, q, args)
        return self.launches(self._dots(tiles, y, dy, dots), gradients)

    def _tiled(self, name: str, tiles: Tiles, count: int, q: Array, args: Sequence[Any]) -> Bound | None:
        """A launch of ``count`` blocks for each of the matrices in ``q``."""
        grid, block, shared, defines = (prod(q.shape[:-2]), count), tiles.block, tiles.shared, tiles.defines
        return self.bound(f"{name}.cu", name, count, *args, block=block, shared=shared, grid=grid, defines=defines)

    def _dots(self, tiles: Tiles, y: Array, dy: Array, dots: Scratch) -> Bound | None:
        grid, args = (prod(y.shape[:-2]), ceil(y.shape[-2] / 32)), (_rows_first(y), _rows_first(dy), dots)
        return self.bound(f"{GRADIENT}.cu", "row_dots", y.size, *args, grid=grid, defines=tiles.defines)

    def _tiles(self, rows: Array, v: Array, q: Array, gradient: bool) -> Tiles:
        """The best tiles for a GPU of this kind, where each block has some of ``rows``."""
        few = prod(rows.shape[:-2]) * ceil(rows.shape[-2] / (ROWS * WARPS[0])) < FULL
        found = candidates(q.shape[-1], v.shape[-1], self.dtype.itemsize, gradient, self._cores(), few)
        return best(found, self.device.properties["sharedMemPerBlockOptin"])

    def _cores(self) -> str:
        """What multiplies: tensor cores, where the job allows what they round to and the GPU has them for that."""
        cores = self.dtype.itemsize == 4 and self.device.properties["major"] >= 8
        return CORES[self.device.precision] if cores else FMA


def _rows_first(array: Array | None) -> View:
    """A view with the axes of rows and columns before the others; None: one whose data is null."""
    if array is None:
        return View(None, struct(0, (), ()))
    steps = [step // array.itemsize for step in array.strides]
    return View(array, struct(place(array), *((*x[-2:], *x[:-2]) for x in (array.shape, steps))))


def _count(rows: Array, tiles: Tiles) -> int:
    """How many tiles have the rows of a matrix."""
    return ceil(int(rows.shape[-2]) / tiles.own)


def _seen(first: int | None) -> int:
    """As the kernels take it."""
    return -1 if first is None else first
