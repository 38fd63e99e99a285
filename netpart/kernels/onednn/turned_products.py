"""Products of few rows x and many weights w, by way of the transpose: the weights are read as they lie, row after row.

    yᵀ = w xᵀ        y (rows, outputs) is yᵀ turned round, plus the bias

For x wᵀ oneDNN brings blocks of the weights into another order first, which takes as long as the product of few rows.
"""

from __future__ import annotations

from typing import NamedTuple

from netpart.kernels.activation import Kind
from netpart.kernels.onednn.activation import append_activation
from netpart.kernels.onednn.activation_calls import add_binary, add_post_ops
from netpart.kernels.onednn.calls import Calls, Piece
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc
from netpart.kernels.onednn.names import Algorithm, Arg
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc

FEW_ROWS, LEAST_WEIGHTS = range(2, 65), 1 << 18
"""The rows with which this takes less time, and the least weights: 1.75 times less for 16 rows, 1.2 for 64, in float32
on a Zen 4."""


class ProductShape(NamedTuple):
    """x is (rows, depth), w (outputs, depth) and y (rows, outputs), each row-major."""

    rows: int
    depth: int
    outputs: int

    @property
    def turning_pays(self) -> bool:
        """True if the product of float32 takes less time turned."""
        return self.rows in FEW_ROWS and self.outputs * self.depth >= LEAST_WEIGHTS


def add_turned_product(
    calls: Calls, shape: ProductShape, x: DnnlMemory, w: DnnlMemory, bias: DnnlMemory | None, y: DnnlMemory,
    activation: Kind | None = None, add: bool = False,
) -> None:  # fmt: skip
    """Append y = activation(x wᵀ + bias), or with ``add`` activation(y + x wᵀ + bias). ``bias`` is (1, outputs)."""
    rows, depth, outputs = shape
    turned = calls.temporary(MemoryDesc.strided((outputs, rows), (rows, 1)))
    factors = MemoryDesc.strided((outputs, depth), (depth, 1)), MemoryDesc.strided((depth, rows), (1, depth))
    product = PrimitiveDesc("matmul", *factors, None, turned.desc)
    calls.repeat(product, {Arg.SRC: Piece(w), Arg.WEIGHTS: Piece(x), Arg.DST: Piece(turned)})
    post = Attributes().sum() if add else None
    back = PrimitiveDesc("reorder", MemoryDesc.strided((rows, outputs), (1, rows)), y.desc, attributes=post)
    calls.repeat(back, {Arg.SRC: Piece(turned), Arg.DST: Piece(y)})
    if bias is not None:
        add_binary(calls, Algorithm.BINARY_ADD, y, bias, y, append_activation(Attributes(), activation))
    elif activation is not None:
        add_post_ops(calls, y, y, append_activation(Attributes(), activation))
