"""Matrix products by cuBLAS; biases in the same launch where cuBLASLt can, else by kernels of our own."""

from __future__ import annotations

from netpart.kernels import inner_product, matmul
from netpart.kernels.activation import Kind
from netpart.kernels.cuda.column_kernels import ColumnTile, ColumnVerbs, count_rows, places_struct
from netpart.kernels.cuda.epilogues import biased_product, summed_product
from netpart.kernels.cuda.moves import MoveVerbs
from netpart.kernels.inner_product import features_by_outputs
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.verbs import NOTHING, as_matrix

FILE = "bias.cu"


class ProductVerbs(ColumnVerbs, MoveVerbs):
    """Building blocks of verbs with matrix products."""

    def product(self, a: Array, b: Array, y: Array, add: bool = False) -> Op:
        """y = a b, or with ``add`` y += that, for any extents."""
        if not y.size:
            return NOTHING
        if not a.shape[-1]:
            return NOTHING if add else self.zeroed(y)
        return self.launches(*self.device.blas.product(a, b, y, add=add))

    def add_bias(self, y: Array, b: Array | None) -> Op:
        """y (rows, columns), in row-major order, += b."""
        if b is None:
            return NOTHING
        tile = ColumnTile.of(*y.shape)
        return self.launches(self.along(FILE, "add_bias", tile, y, places_struct(y), b, tile.value) if y.size else None)

    def bias_gradient(self, dy: Array, db: Array | None) -> Op:
        """db = the sum of dy (B, C, *S) over all axes except the channels."""
        if db is None:
            return NOTHING
        tile = ColumnTile.of(count_rows(dy), dy.shape[1])
        return self.sums(FILE, ("bias_sums", (dy, places_struct(dy))), ("bias_end", (db,)), 1, tile)


class InnerProduct(inner_product.InnerProduct, ProductVerbs):
    """x (B, *F), w (O, *F) or, with ``transpose``, (*F, O), b (O,), y (B, O)."""

    def inner_product(
        self, x: Array, w: Array, b: Array | None, y: Array, transpose: bool, activation: Kind | None = None,
        add: bool = False,
    ) -> Op:  # fmt: skip
        """y = activation(x wᵀ + b), or with ``add`` activation(y + x wᵀ + b)."""
        x_bf = as_matrix(x)
        w_fo = features_by_outputs(w, transpose)
        relu = activation == "relu"
        product = (
            None
            if b is None or not (y.size and x.size)
            else biased_product(self.device.blas, x_bf, w_fo, y, b, relu, add)
        )
        if product is None:
            left = activation
            found = chain_ops(self.product(x_bf, w_fo, y, add), self.add_bias(y, b))
        else:
            left = None if relu else activation
            found = self.launches(product)
        return chain_ops(found, self.activation(left, y, y)) if left else found

    def inner_product_data(self, dy: Array, w: Array, dx: Array, transpose: bool, add: bool = False) -> Op:
        """Overwrite dx = dy w, or add it."""
        return self.product(dy, features_by_outputs(w, transpose).T, as_matrix(dx), add)

    def inner_product_weights(self, x: Array, dy: Array, dw: Array, db: Array | None, transpose: bool) -> Op:
        """Overwrite dw = dyᵀ x (transposed: xᵀ dy) and db = Σ_rows dy."""
        x_bf = as_matrix(x)
        dw_fo = features_by_outputs(dw, transpose)
        product = (
            None if db is None or not (dw.size and dy.size) else summed_product(self.device.blas, x_bf.T, dy, dw_fo, db)
        )
        if product is not None:
            return self.launches(product)
        return chain_ops(self.product(x_bf.T, dy, dw_fo), self.bias_gradient(dy, db))


class Matmul(matmul.Matmul, ProductVerbs):
    """a, b, y: (..., rows, columns), with the same leading axes."""

    def matmul(self, a: Array, b: Array, y: Array, transpose_a: bool = False, transpose_b: bool = False) -> Op:
        """y = a b, after transposing a if ``transpose_a`` and b if ``transpose_b``."""
        left, right = (x.swapaxes(-1, -2) if t else x for x, t in ((a, transpose_a), (b, transpose_b)))
        return self.product(left, right, y)
