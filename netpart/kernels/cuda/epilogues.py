"""Matrix products by cuBLASLt with an epilogue in the same launch: a bias, a relu, or the row sums of a factor.

    y = x wᵀ + b     the bias is added, and the relu taken, before y is written; y may be added, too
    dw = dyᵀ x       the rows of dy are added up while they are read

A handle of cuBLAS is also one of cuBLASLt. The chosen algorithm is the first of its proposals without atomic additions,
whose order would change from run to run; where no such kernel exists, the callers use separate kernels.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from typing import Any, ClassVar

from netpart.kernels.cuda.blas import (
    ROOM,
    SCALARS,
    TYPES,
    WORKSPACE,
    Blas,
    Integer,
    MatrixLayout,
    Pointer,
    workspace_address,
)
from netpart.kernels.cuda.launch import LaunchScratch
from netpart.kernels.cuda.operand import ALIGNED, Operand, ScratchMemory, needed_scratch
from netpart.kernels.op import Array

BIAS, BIAS_RELU, SUM_LEFT, SUM_RIGHT = 4, 6, 256, 512
"""cublasLtEpilogue_t, for column-major matrices; the last two name the factor that is summed."""
TURN_LEFT, TURN_RIGHT, EPILOGUE, VECTOR = 3, 4, 7, 8
"""cublasLtMatmulDescAttributes_t."""
MOST_WORKSPACE, REDUCTIONS, ALIGNMENTS = 1, 3, (5, 6, 7, 8)
"""cublasLtMatmulPreferenceAttributes_t."""
IN_ORDER = 6
"""cublasLtReductionScheme_t, as a mask: partial sums are kept in the workspace and added in a separate step."""
ALGORITHM, RESULT = 64, 96
"""Bytes of cublasLtMatmulAlgo_t, and of cublasLtMatmulHeuristicResult_t, which begins with the former."""
Unsigned = ctypes.c_uint32
Wide = ctypes.c_uint64
Length = ctypes.c_size_t


@dataclass(frozen=True, eq=False)
class FusedProduct:
    """One call of cuBLASLt on arrays: a Launchable."""

    name: ClassVar[str] = "cublasLtMatmul"
    blas: Blas
    operands: tuple[Operand, Operand, Operand]
    arguments: tuple[Any, ...]
    algorithm: Any
    alive: tuple[Any, ...]

    @property
    def scratch(self) -> dict[int, LaunchScratch]:
        """The workspace."""
        return needed_scratch(ROOM)

    def __call__(self, memory: ScratchMemory) -> None:
        after = self.algorithm, Pointer(workspace_address(memory)), Length(WORKSPACE), Pointer(self.blas.stream)
        self.blas.call(self.name, self.blas.handle, *self.arguments, *after)


def biased_product(
    blas: Blas, a: Array, b: Array, y: Array, bias: Array, relu: bool, add: bool = False
) -> FusedProduct | None:
    """The launch of y = a b + ``bias`` (columns of y,), with ``add`` of y plus that, or of its relu. None: cuBLASLt has
    no algorithm."""
    left = Operand.of(b)
    right = Operand.of(a)
    target = Operand.of(y)
    return (
        None
        if MatrixLayout.of(target).turned
        else _fused_product(blas, left, right, target, bias, BIAS_RELU if relu else BIAS, add)
    )


def summed_product(blas: Blas, a: Array, b: Array, y: Array, sums: Array) -> FusedProduct | None:
    """The launch of y = a b and ``sums`` (columns of b,) = the sum of b's rows. None: cuBLASLt has no algorithm."""
    left = Operand.of(b)
    right = Operand.of(a)
    target = Operand.of(y)
    if MatrixLayout.of(target).turned:
        return _fused_product(blas, right.turned, left.turned, target.turned, sums, SUM_RIGHT)
    return _fused_product(blas, left, right, target, sums, SUM_LEFT)


def _fused_product(
    blas: Blas, left: Operand, right: Operand, y: Operand, vector: Array, epilogue: int, add: bool = False
) -> FusedProduct | None:
    """The launch of yᵀ = leftᵀ rightᵀ, or with ``add`` of yᵀ plus that, as cuBLAS reads the matrices, with an epilogue;
    None if cuBLASLt cannot."""
    if not vector.flags.c_contiguous:
        return None
    operands = (left, right, y)
    orders = [MatrixLayout.of(m) for m in (left, right, y)]
    kind = y.dtype.name
    matmul = _create_descriptor(blas, "MatmulDesc", Integer(blas.computes(y)), Integer(TYPES[kind]))
    for attribute, value in (
        (TURN_LEFT, Integer(orders[0].turned)), (TURN_RIGHT, Integer(orders[1].turned)), (EPILOGUE, Unsigned(epilogue)),
        (VECTOR, Pointer(vector.data.ptr)),
    ):  # fmt: skip
        _set_attribute(blas, "MatmulDesc", matmul, attribute, value)
    layouts = [_matrix_descriptor(blas, operand, order) for operand, order in zip(operands, orders, strict=True)]
    algorithm = _best_algorithm(
        blas, matmul, [*layouts, layouts[-1]], [operand.address({}) for operand in (*operands, y)]
    )
    if algorithm is None:
        return None
    one, before = (ctypes.byref(SCALARS[kind](value)) for value in (1, add))
    a, b, c = ((Pointer(m.address({})), layout) for m, layout in zip(operands, layouts, strict=True))
    return FusedProduct(blas, operands, (matmul, one, *a, *b, before, *c, *c), algorithm, (vector,))


def _matrix_descriptor(blas: Blas, operand: Operand, order: MatrixLayout) -> Any:
    """cuBLASLt's descriptor of a matrix, column-major."""
    rows, columns = operand.shape
    extents = (rows, columns) if order.turned else (columns, rows)
    kind = Integer(TYPES[operand.dtype.name])
    return _create_descriptor(blas, "MatrixLayout", kind, *map(Wide, extents), ctypes.c_int64(order.leading))


def _best_algorithm(blas: Blas, matmul: Any, layouts: list[Any], addresses: list[int]) -> Any:
    """The algorithm that cuBLASLt's heuristic ranks first; None if it finds no algorithm."""
    wishes = _create_descriptor(blas, "MatmulPreference")
    _set_attribute(blas, "MatmulPreference", wishes, MOST_WORKSPACE, Wide(WORKSPACE))
    _set_attribute(blas, "MatmulPreference", wishes, REDUCTIONS, Unsigned(IN_ORDER))
    for attribute, address in zip(ALIGNMENTS, addresses, strict=True):
        # address & -address is the largest power of two that divides the address.
        _set_attribute(blas, "MatmulPreference", wishes, attribute, Unsigned(min(ALIGNED, address & -address)))
    result = (ctypes.c_uint64 * (RESULT // 8))()
    count = Integer()
    find = blas.calls.cublasLtMatmulAlgoGetHeuristic
    refused = find(blas.handle, matmul, *layouts, wishes, Integer(1), result, ctypes.byref(count))
    return None if refused or count.value < 1 else (ctypes.c_uint64 * (ALGORITHM // 8))(*result[: ALGORITHM // 8])


def _create_descriptor(blas: Blas, noun: str, *arguments: Any) -> Any:
    """A descriptor, destroyed together with the returned pointer. Raises NetpartError if it cannot be created."""
    found = Pointer()
    blas.call(f"cublasLt{noun}Create", ctypes.byref(found), *arguments)
    # The finaliser gets a copy of the pointer: a reference to ``found`` itself would keep it alive.
    weakref.finalize(found, getattr(blas.calls, f"cublasLt{noun}Destroy"), Pointer(found.value))
    return found


def _set_attribute(blas: Blas, noun: str, descriptor: Any, attribute: int, value: Any) -> None:
    """Set an attribute of a descriptor."""
    size = Length(ctypes.sizeof(value))
    blas.call(f"cublasLt{noun}SetAttribute", descriptor, Integer(attribute), ctypes.byref(value), size)
