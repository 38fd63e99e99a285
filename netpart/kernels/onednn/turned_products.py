"""Products of few rows x and many weights w, by way of the transpose: the weights are read as they lie, row after row.

    yᵀ = w xᵀ        y (rows, outputs) is yᵀ turned round, plus the bias

For x wᵀ oneDNN brings blocks of the weights into another order first, which takes as long as the product of few rows.
"""

from __future__ import annotations

from typing import NamedTuple

from netpart.kernels.activation import Kind
from netpart.kernels.onednn.activation import append_activation
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
    if shape.rows not in FEW_ROWS or shape.outputs * shape.depth < LEAST_WEIGHTS:
        return False
    try:
        found = _TurnedProduct(shape, bias, y, activation, add)
    except OneDnnRefused:
        return False
    if found.product.implementation.startswith("brg"):  # a BLAS brings both factors into another order
        found.append(calls, x, w)
        return True
    return False


class _TurnedProduct:
    """The primitives of one product: ``product`` makes yᵀ, ``back`` turns it round, ``last`` adds and activates."""

    def __init__(
        self, shape: ProductShape, bias: DnnlMemory | None, y: DnnlMemory, activation: Kind | None, add: bool
    ) -> None:
        rows, depth, outputs = shape
        factors = MemoryDesc.strided((outputs, depth), (depth, 1)), MemoryDesc.strided((depth, rows), (1, depth))
        self.turned = MemoryDesc.strided((outputs, rows), (rows, 1))
        self.product = PrimitiveDesc("matmul", *factors, None, self.turned)
        source, post = MemoryDesc.strided((rows, outputs), (1, rows)), Attributes().sum() if add else None
        self.back = PrimitiveDesc("reorder", source, y.desc, attributes=post)
        # Without a bias min(y, y) carries the activation, if there is one.
        algorithm = Algorithm.BINARY_MIN if bias is None else Algorithm.BINARY_ADD
        self.operand, self.y = bias or y, y
        ends = y.desc, self.operand.desc, y.desc
        self.last = PrimitiveDesc("binary", algorithm, *ends, attributes=append_activation(Attributes(), activation))
        self.is_plain = bias is None and activation is None

    def append(self, calls: Calls, x: DnnlMemory, w: DnnlMemory) -> None:
        """Append the runs."""
        made = calls.temporary(self.turned)
        calls.repeat(self.product, {Arg.SRC: Piece(w), Arg.WEIGHTS: Piece(x), Arg.DST: Piece(made)})
        calls.repeat(self.back, {Arg.SRC: Piece(made), Arg.DST: Piece(self.y)})
        if not self.is_plain:
            calls.add(self.last, {Arg.SRC: self.y, Arg.SRC_1: self.operand, Arg.DST: self.y})
