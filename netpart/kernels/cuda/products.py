"""Matrix products by cuBLAS; biases by kernels of our own."""

from __future__ import annotations

from math import ceil

from netpart.kernels.cuda.arrays import Arrays
from netpart.kernels.cuda.launch import Bound, Scratch, views
from netpart.kernels.inner_product import features_by_outputs
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import matrix

STRIPS, LEAST = 64, 64
"""Strips of rows that are summed apart at most, and rows of one at least."""
COLUMNS, ROWS = 32, 8
"""Threads of a block that sums columns: as many columns, and of a strip every so many-th row."""


class Products(Arrays):
    """What verbs with matrix products are made of."""

    def product(self, a: Array, b: Array, y: Array) -> list[Bound | None]:
        """y = a b, whatever the extents."""
        if not y.size or a.shape[-1]:
            return list(self.device.blas.product(a, b, y)) if y.size else []
        return [self.bound("arrays.cu", "zero", y.size, *views(y), y.size)]

    def add_bias(self, y: Array, b: Array) -> Bound | None:
        """y (rows, columns), in row-major order, += b."""
        rows, columns = y.shape
        return self.bound("bias.cu", "add_bias", rows * columns, y, b, rows * columns, columns)

    def column_sums(self, x: Array | Scratch, rows: int, columns: int, sums: Array) -> list[Bound | None]:
        """sums = the sums of the columns of x (rows, columns), which lies in row-major order: of strips of rows, then of
        these."""
        strips = min(STRIPS, ceil(rows / LEAST))
        if strips <= 1:
            return [self._strips(x, rows, columns, sums, 1)]
        part = Scratch((strips, columns), self.dtype)
        return [self._strips(x, rows, columns, part, strips), self._strips(part, strips, columns, sums, 1)]

    def _strips(
        self, x: Array | Scratch, rows: int, columns: int, sums: Array | Scratch, strips: int
    ) -> Bound | None:
        grid, strip = (ceil(columns / COLUMNS), strips), ceil(rows / strips)
        args = sums, x, rows, columns, strip
        return self.bound("bias.cu", "sum_strips", columns, *args, block=(COLUMNS, ROWS), grid=grid)


class InnerProduct(Products):
    """x (B, *F), w (O, *F) or, with ``transpose``, (*F, O), b (O,), y (B, O)."""

    def inner_product(self, x: Array, w: Array, b: Array | None, y: Array, transpose: bool) -> Op:
        """y = x wᵀ + b."""
        product = self.product(matrix(x), features_by_outputs(w, transpose), y)
        return self.launches(*product, None if b is None else self.add_bias(y, b))

    def inner_product_data(self, dy: Array, w: Array, dx: Array, transpose: bool) -> Op:
        """Overwrites dx = dy w."""
        return self.launches(*self.product(dy, features_by_outputs(w, transpose).T, matrix(dx)))

    def inner_product_weights(self, x: Array, dy: Array, dw: Array, db: Array | None, transpose: bool) -> Op:
        """Overwrites dw = dyᵀ x (transposed: xᵀ dy) and db = Σ_rows dy."""
        x_bf, dw_fo = matrix(x), features_by_outputs(dw, transpose)
        sums = [] if db is None else self.column_sums(dy, *dy.shape, db)
        return self.launches(*self.product(x_bf.T, dy, dw_fo), *sums)


class Matmul(Products):
    """a, b, y: (..., rows, columns), equal on the axes before."""

    def matmul(self, a: Array, b: Array, y: Array, transpose_a: bool = False, transpose_b: bool = False) -> Op:
        """y = a b, each of them transposed first if it is said so."""
        left, right = (x.swapaxes(-1, -2) if t else x for x, t in ((a, transpose_a), (b, transpose_b)))
        return self.launches(*self.product(left, right, y))
