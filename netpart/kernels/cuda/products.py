"""Matrix products by cuBLAS; biases by kernels of our own."""

from __future__ import annotations

from netpart.kernels import inner_product, matmul
from netpart.kernels.cuda.columns import Columns, Tile, places, rows
from netpart.kernels.cuda.moves import Moves
from netpart.kernels.inner_product import features_by_outputs
from netpart.kernels.op import Array, Op, chain
from netpart.kernels.verbs import NOTHING, matrix

FILE = "bias.cu"


class Products(Columns, Moves):
    """What verbs with matrix products are made of."""

    def product(self, a: Array, b: Array, y: Array) -> Op:
        """y = a b, whatever the extents."""
        if not y.size:
            return NOTHING
        return self.launches(*self.device.blas.product(a, b, y)) if a.shape[-1] else self.zeroed(y)

    def add_bias(self, y: Array, b: Array | None) -> Op:
        """y (rows, columns), in row-major order, += b."""
        if b is None:
            return NOTHING
        tile = Tile.of(*y.shape)
        return self.launches(self.along(FILE, "add_bias", tile, y, places(y), b, tile.value) if y.size else None)

    def bias_gradient(self, dy: Array, db: Array | None) -> Op:
        """db = the sum of dy (B, C, *S) over all but its channels."""
        if db is None:
            return NOTHING
        tile = Tile.of(rows(dy), dy.shape[1])
        return self.sums(FILE, ("bias_sums", (dy, places(dy))), ("bias_end", (db,)), 1, tile)


class InnerProduct(inner_product.InnerProduct, Products):
    """x (B, *F), w (O, *F) or, with ``transpose``, (*F, O), b (O,), y (B, O)."""

    def inner_product(self, x: Array, w: Array, b: Array | None, y: Array, transpose: bool) -> Op:
        """y = x wᵀ + b."""
        return chain(self.product(matrix(x), features_by_outputs(w, transpose), y), self.add_bias(y, b))

    def inner_product_data(self, dy: Array, w: Array, dx: Array, transpose: bool) -> Op:
        """Overwrites dx = dy w."""
        return self.product(dy, features_by_outputs(w, transpose).T, matrix(dx))

    def inner_product_weights(self, x: Array, dy: Array, dw: Array, db: Array | None, transpose: bool) -> Op:
        """Overwrites dw = dyᵀ x (transposed: xᵀ dy) and db = Σ_rows dy."""
        x_bf, dw_fo = matrix(x), features_by_outputs(dw, transpose)
        return chain(self.product(x_bf.T, dy, dw_fo), self.bias_gradient(dy, db))


class Matmul(matmul.Matmul, Products):
    """a, b, y: (..., rows, columns), equal on the axes before."""

    def matmul(self, a: Array, b: Array, y: Array, transpose_a: bool = False, transpose_b: bool = False) -> Op:
        """y = a b, each of them transposed first if it is said so."""
        left, right = (x.swapaxes(-1, -2) if t else x for x, t in ((a, transpose_a), (b, transpose_b)))
        return self.product(left, right, y)
