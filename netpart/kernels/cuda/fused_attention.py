"""Scaled dot-product attention in one kernel forward and two backward, which keep no scores.

Dao, FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning, 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any

from netpart.kernels.arguments import AttentionArguments
from netpart.kernels.cuda.launch import CudaVerbs, Launchable, LaunchScratch
from netpart.kernels.cuda.rotary import turn_factors
from netpart.kernels.cuda.tiles import FULL, ROWS, WARPS, AttentionTiles, fitting_tiles, tile_candidates
from netpart.kernels.cuda.view import StridedView, strided_struct, strided_view
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import data_address

FORWARD, GRADIENT = "fused_attention", "fused_attention_gradient"
"""The names of the kernels, and of their sources."""


TURNED, MASKED = "TURNED=1", "MASKED=1"
"""The defines of kernels that rotate queries or keys, and of those that do not read all keys."""
FMA = "Fma"
CORES = {"float32": FMA, "tf32": "TensorCores<Tf32>", "bfloat16": "TensorCores<Bf16>"}
"""By precision, the struct of the CUDA source that multiplies tiles."""


class FusedAttention(CudaVerbs):
    """q (..., T, D), k (..., S, D), v (..., S, E), y (..., T, E), p (..., T), with S and all of y at least 1, and D and
    E at most WIDEST; p, in row-major order, is the logarithm of the sum of the exponentials of a query's scores."""

    def fused_attention(self, a: AttentionArguments) -> Op:
        """y = softmax(scale · q kᵀ) v; query i sees the keys up to ``first`` + i."""
        tiles = self._tiles(a.q, a.v, a.q, False)
        arrays = *map(_rows_first_view, (a.q, a.k, a.v, a.y)), a.p, *self._turns(a)
        hidden = self.hidden_keys(a)
        args = *arrays, float(a.scale), _first_key_argument(a.first), hidden, _count_heads(a)
        attention = self._tiled(FORWARD, tiles, _count_tiles(a.q, tiles), a, args)
        return self.launches(self.flag_keys(a, hidden), attention)

    def fused_attention_gradient(
        self, a: AttentionArguments, dy: Array, dq: Array | None, dk: Array | None, dv: Array | None
    ) -> Op:
        """Overwrite the wanted gradients."""
        tiles = self._tiles(a.k, a.v, a.q, True)
        dots = LaunchScratch(a.q.shape[:-1], self.dtype)
        of_keys = _count_tiles(a.k, tiles) if dk is not None or dv is not None else 0
        of_queries = _count_tiles(a.q, tiles) if dq is not None else 0
        arrays = *map(_rows_first_view, (a.q, a.k, a.v, dy)), a.p, dots, *self._turns(a)
        made = map(_rows_first_view, (dq, dk, dv))
        hidden = self.hidden_keys(a)
        args = *arrays, *made, of_keys, float(a.scale), _first_key_argument(a.first), hidden, _count_heads(a)
        gradients = self._tiled(GRADIENT, tiles, of_keys + of_queries, a, args)
        return self.launches(self.flag_keys(a, hidden), self._dots(tiles, a.y, dy, dots), gradients)

    def hidden_keys(self, a: AttentionArguments) -> LaunchScratch | None:
        """Memory for a flag of each key of each row: 1 if the mask hides it; None without a mask."""
        return None if a.mask is None else LaunchScratch(tuple(map(int, a.mask.shape)), "uint8")

    def flag_keys(self, a: AttentionArguments, hidden: LaunchScratch | None) -> Launchable | None:
        """The launch that fills ``hidden``; None without a mask."""
        mask = a.mask
        if mask is None:
            return None
        name = "hide_numbers" if mask.dtype == self.dtype else "hide_tokens"
        return self.bound("attention.cu", name, mask.size, hidden, strided_view(mask), int(a.pad), int(mask.size))

    def _turns(self, a: AttentionArguments) -> list[Array]:
        """The rotations of q and k, an array (rows, columns) with the real and imaginary part of each pair; or None."""
        xp = self.xp
        factors = (None if one is None else turn_factors(xp.asnumpy(one), self.dtype) for one in a.turns)
        return [None if one is None else xp.asarray(one.view(self.dtype)) for one in factors]

    def _tiled(
        self, name: str, tiles: AttentionTiles, count: int, a: AttentionArguments, args: Sequence[Any]
    ) -> Launchable | None:
        """A launch of ``count`` blocks for each of the matrices in q."""
        grid = (prod(a.q.shape[:-2]), count)
        block = tiles.block
        shared = tiles.shared
        turned = any(one is not None for one in a.turns)
        defines = (*tiles.defines, *[TURNED] * turned, *[MASKED] * (a.mask is not None))
        return self.bound(f"{name}.cu", name, count, *args, block=block, shared=shared, grid=grid, defines=defines)

    def _dots(self, tiles: AttentionTiles, y: Array, dy: Array, dots: LaunchScratch) -> Launchable | None:
        grid = (prod(y.shape[:-2]), ceil(y.shape[-2] / 32))
        args = (_rows_first_view(y), _rows_first_view(dy), dots)
        return self.bound(f"{GRADIENT}.cu", "row_dots", y.size, *args, grid=grid, defines=tiles.defines)

    def _tiles(self, rows: Array, v: Array, q: Array, gradient: bool) -> AttentionTiles:
        """The best tiles for this GPU, where each block has some of ``rows``."""
        few = prod(rows.shape[:-2]) * ceil(rows.shape[-2] / (ROWS * WARPS[0])) < FULL
        found = tile_candidates(q.shape[-1], v.shape[-1], self.dtype.itemsize, gradient, self._cores(), few)
        return fitting_tiles(found, self.device.properties["sharedMemPerBlockOptin"])

    def _cores(self) -> str:
        """The struct that multiplies: tensor cores, if the job allows their rounding and the GPU supports it."""
        cores = self.dtype.itemsize == 4 and self.device.properties["major"] >= 8
        return CORES[self.device.precision] if cores else FMA


def _rows_first_view(array: Array | None) -> StridedView:
    """A view with the axes of rows and columns before the others; for None, one whose data is null."""
    if array is None:
        return StridedView(None, strided_struct(0, (), ()))
    steps = [step // array.itemsize for step in array.strides]
    return StridedView(array, strided_struct(data_address(array), *((*x[-2:], *x[:-2]) for x in (array.shape, steps))))


def _count_tiles(rows: Array, tiles: AttentionTiles) -> int:
    """The number of tiles of the rows of a matrix."""
    return ceil(int(rows.shape[-2]) / tiles.own)


def _count_heads(a: AttentionArguments) -> int:
    """The matrices of one row of the batch, which have the same mask."""
    return prod(a.q.shape[1:-2])


def _first_key_argument(first: int | None) -> int:
    """``first`` as the kernels take it: -1 for None."""
    return -1 if first is None else first
