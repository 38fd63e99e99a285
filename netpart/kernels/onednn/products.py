"""Matrix products.

NumPy's OpenBLAS has code for fewer processors than oneDNN, and reaches half of its speed on the others.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from netpart.kernels import inner_product, matmul
from netpart.kernels.activation import Kind
from netpart.kernels.bfloat16 import is_bfloat16
from netpart.kernels.onednn.activation import append_activation
from netpart.kernels.onednn.calls import Calls, OneDnnVerbs
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc, dense_strides
from netpart.kernels.onednn.names import Algorithm, Arg
from netpart.kernels.onednn.portions import add_channel_sums
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc, scale_argument
from netpart.kernels.onednn.turned_products import ProductShape, try_turned_product
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import as_matrix

PACKED_ROWS = 1024
"""Rows of x from which on a product with a copy of the weights in oneDNN's own order takes less, copying included."""
BLOCK_COLUMNS, MOST_BLOCKS = 2048, 64
"""The most columns of a block of a wide gradient of weights, and its most blocks. On two threads oneDNN takes up to
four times as long for 113 outputs of 9216 inputs, 16 rows, as for the same in blocks."""


class InnerProduct(inner_product.InnerProduct, OneDnnVerbs):
    """The verbs of the reference; sums over rows are left to NumPy."""

    def inner_product(
        self, x: Array, w: Array, b: Array | None, y: Array, transpose: bool, activation: Kind | None = None,
        add: bool = False,
    ) -> Op:  # fmt: skip
        """y = activation(x wᵀ + b), or with ``add`` activation(y + x wᵀ + b)."""

        def describe(calls: Calls) -> None:
            bias = None if b is None else matmul_memory(b.reshape(1, -1))
            weights = matmul_memory(inner_product.features_by_outputs(w, transpose))
            rows, target = matmul_memory(as_matrix(x)), matmul_memory(y)
            shape = ProductShape(len(x), weights.array.shape[0], y.shape[1])
            turns = not transpose and _are_row_major(x, w, y)
            if turns and try_turned_product(calls, shape, rows, weights, bias, target, activation, add):
                return
            post = append_activation(Attributes().sum() if add else Attributes(), activation)
            packed = len(x) >= PACKED_ROWS and not transpose
            _add_product(calls, rows, weights, target, bias, post, packed)

        return self.attempt(describe, super().inner_product, x, w, b, y, transpose, activation, add)

    def inner_product_data(self, dy: Array, w: Array, dx: Array, transpose: bool, add: bool = False) -> Op:
        """Overwrite dx = dy w, or add it."""

        def describe(calls: Calls) -> None:
            w_of = inner_product.features_by_outputs(w, transpose).T
            add_matmul(calls, matmul_memory(dy), matmul_memory(w_of), matmul_memory(as_matrix(dx)), add=add)

        return self.attempt(describe, super().inner_product_data, dy, w, dx, transpose, add)

    def inner_product_weights(self, x: Array, dy: Array, dw: Array, db: Array | None, transpose: bool) -> Op:
        """Overwrite dw = dyᵀ x (transposed: xᵀ dy) and db = Σ_rows dy."""

        def describe(calls: Calls) -> None:
            x_bf = as_matrix(x)
            dw_fo = inner_product.features_by_outputs(dw, transpose)
            left, right, target = (x_bf.T, dy, dw_fo) if transpose else _in_blocks(dy.T, x_bf, dw_fo.T)
            add_matmul(calls, matmul_memory(left), matmul_memory(right), matmul_memory(target))
            if db is not None and is_bfloat16(dy):
                dense = MemoryDesc.strided(dy.shape, dense_strides(dy.shape), dy.dtype.name)
                add_channel_sums(calls, calls.ordered(matmul_memory(dy), dense), dy.shape, db, dy.dtype.name)
            elif db is not None:
                calls.then(lambda: self.xp.sum(dy, axis=0, out=db))

        return self.attempt(describe, super().inner_product_weights, x, dy, dw, db, transpose)


class Matmul(matmul.Matmul, OneDnnVerbs):
    """The verb of the reference."""

    def matmul(self, a: Array, b: Array, y: Array, transpose_a: bool = False, transpose_b: bool = False) -> Op:
        """y = a b, after transposing a if ``transpose_a`` and b if ``transpose_b``."""

        def describe(calls: Calls) -> None:
            left, right = (x.swapaxes(-1, -2) if t else x for x, t in ((a, transpose_a), (b, transpose_b)))
            add_matmul(calls, matmul_memory(left), matmul_memory(right), matmul_memory(y))

        return self.attempt(describe, super().matmul, a, b, y, transpose_a, transpose_b)


def _in_blocks(a: Array, b: Array, y: Array) -> tuple[Array, Array, Array]:
    """The matrices of y = a b; views (blocks, rows, columns) of them if b has more columns than two blocks may have,
    and is cut into equal ones. With AVX-512 each sum stays as it is; a BLAS adds the columns at the end of a row in
    another way."""
    rows, columns = b.shape
    least = ceil(columns / BLOCK_COLUMNS)
    count = next((n for n in range(least, MOST_BLOCKS) if columns % n == 0), 1) if least > 2 and rows else 1
    if count == 1:
        return a, b, y
    wide, made = (matrix.reshape(len(matrix), count, -1).swapaxes(0, 1) for matrix in (b, y))
    return a[None], wide, made


def _are_row_major(*arrays: Array) -> bool:
    """True if all arrays are float32 without gaps, in the order of their axes."""
    return all(array.flags.c_contiguous and array.dtype == np.float32 for array in arrays)


def matmul_memory(array: Array) -> DnnlMemory:
    """The memory of ``array`` (..., rows, columns). Axes of extent 1 get the strides that the BLAS requires."""
    strides = [s // array.itemsize for s in array.strides]
    for axis in reversed(range(array.ndim)):
        if array.shape[axis] == 1:
            # As in a dense array: a leading dimension may not be smaller than the row that it steps over.
            inner = zip(strides[axis + 1 :], array.shape[axis + 1 :], strict=True)
            strides[axis] = max((s * n for s, n in inner), default=1)
    return DnnlMemory(MemoryDesc.strided(array.shape, strides, array.dtype.name), array)


def add_matmul(
    calls: Calls, a: DnnlMemory, b: DnnlMemory, y: DnnlMemory, scale: float = 1.0, add: bool = False
) -> None:
    """Append y = scale · a b; with ``add``, y += that. a, b, y: (..., rows, columns)."""
    post = Attributes()
    if scale != 1 and not add and _passes_again(a, b, y):
        return _add_scaled_product(calls, a, b, y, scale)
    if scale != 1:
        post.eltwise(Algorithm.LINEAR, scale)
    if add:
        post.sum()
    _add_product(calls, a, b, y, None, post)


def _passes_again(a: DnnlMemory, b: DnnlMemory, y: DnnlMemory) -> bool:
    """True if oneDNN makes post-operations of the product in a pass of their own: that of a BLAS has no others."""
    return PrimitiveDesc("matmul", a.desc, b.desc, None, y.desc).implementation.startswith("gemm:jit:f32")


def _add_scaled_product(calls: Calls, a: DnnlMemory, b: DnnlMemory, y: DnnlMemory, scale: float) -> None:
    """Append y = scale · a b, with the factor that a BLAS multiplies each sum by, which rounds as a pass would."""
    factor = DnnlMemory(MemoryDesc.strided((1,), (1,)), np.full(1, scale, np.float32))
    desc = PrimitiveDesc("matmul", a.desc, b.desc, None, y.desc, attributes=Attributes().scales(Arg.SRC))
    calls.add(desc, {Arg.SRC: a, Arg.WEIGHTS: b, Arg.DST: y, scale_argument(Arg.SRC): factor})


def _add_product(
    calls: Calls, a: DnnlMemory, b: DnnlMemory, y: DnnlMemory, bias: DnnlMemory | None, post: Attributes,
    packed: bool = False,
) -> None:  # fmt: skip
    """Append y = post(a b + bias); ``packed``: with a copy of b in the memory order that oneDNN prefers."""
    wanted = MemoryDesc.any(b.array.shape, b.array.dtype.name) if packed else b.desc
    desc = PrimitiveDesc("matmul", a.desc, wanted, bias and bias.desc, y.desc, attributes=post)
    weights = calls.ordered(b, desc.arg(Arg.WEIGHTS)) if packed else b
    calls.add(desc, {Arg.SRC: a, Arg.WEIGHTS: weights, Arg.BIAS: bias, Arg.DST: y})
