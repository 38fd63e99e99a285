"""Products of few rows x and many weights w, by way of the transpose: the weights are read as they lie, row after row.

    yᵀ = w xᵀ        y (rows, outputs) is yᵀ turned round, plus the bias

For x wᵀ oneDNN brings blocks of the weights into another order first, which takes as long as the product of few rows.
"""

from __future__ import annotations

from typing import NamedTuple

from netpart.kernels.activation import Kind
from netpart.kernels.onednn.activation import append_activation
from netpart.kernels.onednn.activation_calls import add_post_ops
from netpart.kernels.onednn.calls import Calls, Piece
from netpart.kernels.onednn.library import OneDnnRefused
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc
from netpart.kernels.onednn.names import Algorithm, Arg
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc

FEW_ROWS, LEAST_WEIGHTS = range(2, 65), 1 << 18
"""The rows with which this takes less time, and the least weights: in float32, on one and two threads of a Zen 4, 1.75
times less for 16 rows, 1.2 for 64."""


class ProductShape(NamedTuple):
    """x is (rows, depth), w (outputs, depth) and y (rows, outputs), each row-major."""

    rows: int
    depth: int
    outputs: int


def try_turned_product(
    calls: Calls, shape: ProductShape, x: DnnlMemory, w: DnnlMemory, bias: DnnlMemory | None, y: DnnlMemory,
    activation: Kind | None = None, add: bool = False,
) -> bool:  # fmt: skip
    """Append y = activation(x wᵀ + bias), or with ``add`` activation(y + x wᵀ + bias), all in float32; ``bias`` is
    (1, outputs). Return False, with nothing appended, if that does not pay, or if oneDNN refuses a part of it."""
    rows, depth, outputs = shape
    if rows not in FEW_ROWS or outputs * depth < LEAST_WEIGHTS:
        return False
    turned = MemoryDesc.strided((outputs, rows), (rows, 1))
    factors = MemoryDesc.strided((outputs, depth), (depth, 1)), MemoryDesc.strided((depth, rows), (1, depth))
    post = append_activation(Attributes(), activation)
    try:
        product = PrimitiveDesc("matmul", *factors, None, turned)
        source = MemoryDesc.strided((rows, outputs), (1, rows))
        back = PrimitiveDesc("reorder", source, y.desc, attributes=Attributes().sum() if add else None)
        last = bias and PrimitiveDesc("binary", Algorithm.BINARY_ADD, y.desc, bias.desc, y.desc, attributes=post)
    except OneDnnRefused:
        return False
    made = calls.temporary(turned)
    calls.repeat(product, {Arg.SRC: Piece(w), Arg.WEIGHTS: Piece(x), Arg.DST: Piece(made)})
    calls.repeat(back, {Arg.SRC: Piece(made), Arg.DST: Piece(y)})
    if last is not None:
        calls.add(last, {Arg.SRC: y, Arg.SRC_1: bias, Arg.DST: y})
    elif activation is not None:
        add_post_ops(calls, y, y, post)
    return True
