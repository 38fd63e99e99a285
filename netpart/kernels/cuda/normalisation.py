"""Normalisation of blocks of features, a thread block for each."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from netpart.kernels import normalisation as reference
from netpart.kernels.arguments import NormaliseArguments
from netpart.kernels.cuda.column_kernels import ColumnTile, ColumnVerbs
from netpart.kernels.cuda.launch import MOST, KernelLaunch
from netpart.kernels.cuda.moves import MoveVerbs
from netpart.kernels.cuda.view import collapsed_views
from netpart.kernels.op import Array, Box, Op, chain_ops
from netpart.kernels.verbs import NOTHING
from netpart.spec import Shape

FILE = "normalisation.cu"
SPREAD = np.dtype([("inner", "i8"), ("period", "i8")])
"""struct Spread of normalisation.cu."""
WHOLE = 1, 1
"""The spread of absent scales."""


class Normalisation(reference.Normalisation, ColumnVerbs, MoveVerbs):
    """The verbs of the reference. Sums are in float64.

    If y is only a box of the blocks, scale and shift are done by a separate kernel.
    """

    def normalise(self, a: NormaliseArguments) -> Op:
        """y = unit · w + b with unit = (x - mean) · rstd, rstd = 1 / sqrt(variance + epsilon)."""
        if not a.x.size:
            return NOTHING
        spread = _scale_spread(a.x, a.y, a.w, a.b)
        kept = a.unit, a.rstd, float(a.epsilon), a.centred
        if spread is not None:
            return self.launches(self._blocks("normalise", a.x, a.blocks, spread, a.x, a.w, a.b, a.y, *kept))
        alone = self._blocks("normalise", a.x, a.blocks, WHOLE, a.x, None, None, None, *kept)
        return chain_ops(self.launches(alone), self._scale_shift(a.unit[a.own], a.w, a.b, a.y))

    def normalise_gradient(
        self, unit: Array, rstd: Array, w: Array | None, dy: Array, dx: Array, own: Box, centred: bool,
        add: bool = False,
    ) -> Op:  # fmt: skip
        """Overwrite dx = rstd · (g - mean g - unit · mean (g · unit)) with g = dy · w, 0 outside ``own``, or add it.

        Raises ValueError if it is to be added and dy is only a box of the blocks.
        """
        if not dx.size:
            return NOTHING
        name = "normalise_gradient"
        blocks = len(rstd)
        spread = _scale_spread(dx, dy, w)
        if spread is not None:
            return self.launches(self._blocks(name, dx, blocks, spread, unit, rstd, w, dy, dx, centred, add))
        if add:
            raise ValueError(f"normalise_gradient: expected whole blocks to add to {dx.shape}, got {dy.shape}")
        rows = self._blocks(f"{name}_in_place", dx, blocks, WHOLE, unit, rstd, None, dx, dx, centred, False)
        return chain_ops(self.zeroed(dx), self._scale_shift(dy, w, None, dx[own]), self.launches(rows))

    def normalise_parameters(self, unit: Array, dy: Array, dw: Array | None, db: Array | None, own: Box) -> Op:
        """Overwrite dw = Σ dy · unit and db = Σ dy, over the axes on which they have extent 1."""
        found = [d for d in (dw, db) if d is not None]
        if all(_scales_columns(d, unit, dy) for d in found) and len({d.shape for d in found}) == 1:
            tile = ColumnTile.of(dy.size // max(1, found[0].size), found[0].size)
            return self.sums(FILE, ("column_products", (unit, dy)), ("products_end", (dw, db)), 2, tile)
        return chain_ops(*(self._products(unit[own], dy, d, d is dw) for d in found))

    def _blocks(self, name: str, x: Array, blocks: int, spread: tuple[int, int], *args: Any) -> KernelLaunch | None:
        """A kernel with a block of threads for each block of ``x``; the last arguments are the blocks' sizes."""
        n = x.size // blocks
        threads = min(1024, max(32, 1 << (n // 8).bit_length()))
        return self.bound(
            FILE, name, blocks, *args, blocks, n, np.array(spread, SPREAD), block=threads, grid=min(blocks, MOST)
        )

    def _scale_shift(self, unit: Array, w: Array | None, b: Array | None, y: Array) -> Op:
        """y = unit · w + b."""
        stretched = (unit if a is None else self.xp.broadcast_to(a, y.shape) for a in (w, b))
        arrays = collapsed_views(y, unit, *stretched)
        return self.launches(self.elements(FILE, "scale_shift", y.size, *arrays, w is not None, b is not None))

    def _products(self, unit: Array, dy: Array, d: Array, times_unit: bool) -> Op:
        """d = Σ dy · unit, or Σ dy unless ``times_unit``, over the axes on which d has extent 1."""
        if not dy.size:
            return self.zeroed(d)
        kept = tuple(slice(0, n) for n in d.shape)
        rest = tuple(slice(0, 1 if n != 1 else None) for n in d.shape)
        single = collapsed_views(d, unit[kept], dy[kept])
        many = collapsed_views(unit[rest], dy[rest])
        sizes = times_unit, d.size, dy.size // d.size
        return self.launch(FILE, "product_sums", d.size, *single, *many, *sizes, grid=min(d.size, MOST))


def _scale_spread(x: Array, y: Array, *given: Array | None) -> tuple[int, int] | None:
    """(inner, period) of equally shaped scales: element i of x has scale (i / inner) % period; None: impossible."""
    scales = [a for a in given if a is not None]
    if x.shape != y.shape or len({a.shape for a in scales}) > 1 or not all(a.flags.c_contiguous for a in scales):
        return None
    shape: Shape = scales[0].shape if scales else (1,) * x.ndim
    first, stop = _non_unit_axes(shape)
    if shape[first:stop] != x.shape[first:stop]:
        return None
    return prod(x.shape[stop:]), prod(shape)


def _non_unit_axes(shape: Shape) -> tuple[int, int]:
    """The range of axes from the first to the last whose extent is not 1."""
    long = [axis for axis, n in enumerate(shape) if n != 1]
    return (long[0], long[-1] + 1) if long else (0, 0)


def _scales_columns(d: Array, unit: Array, dy: Array) -> bool:
    """True if ``d`` has a number for each column of dy and unit, which are whole and row-major."""
    return unit.shape == dy.shape and (_scale_spread(unit, dy, d) or (0, 0))[0] == 1
