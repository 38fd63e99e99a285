"""cuBLAS on one stream at a time, with its workspace in scratch.

Unlike CuPy's own products, these may be part of a CUDA graph.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

from netpart.errors import NetpartError
from netpart.kernels.cuda.device import CudaDevice
from netpart.kernels.cuda.launch import LaunchScratch
from netpart.kernels.cuda.operand import (
    ALIGNED,
    Operand,
    ScratchMemory,
    align_workspace,
    needed_scratch,
    operand_address,
)
from netpart.kernels.op import Array

WORKSPACE = 32 << 20
"""Bytes of the workspace, as NVIDIA recommends for compute capability 9."""
ROOM = LaunchScratch((WORKSPACE + ALIGNED,), "uint8")
"""The workspace of all products of an Op, which run one after another, with room to align its start."""

PRECISIONS = {"float32": 68, "tf32": 77, "bfloat16": 75}
"""cublasComputeType_t of products of float32 matrices, by the precision that factors are rounded to."""
DOUBLE = 70
"""cublasComputeType_t of products of float64 matrices."""
TYPES = {"float32": 0, "float64": 1}
"""cudaDataType_t."""
SCALARS: dict[str, Any] = {"float32": ctypes.c_float, "float64": ctypes.c_double}
DEFAULT_ALGORITHM = -1

Pointer = ctypes.c_void_p
Integer = ctypes.c_int
Long = ctypes.c_longlong


class MatrixLayout(NamedTuple):
    """The memory order of (..., rows, columns): row-major or, if ``turned``, column-major.

    ``leading`` elements are between two rows (columns) and ``step`` between two matrices; None: the steps differ.
    """

    turned: bool
    leading: int
    step: int | None

    @classmethod
    def of(cls, a: Operand) -> MatrixLayout:
        """The layout of ``a``. Raises ValueError if neither rows nor columns are contiguous."""
        (rows, columns) = a.shape[-2:]
        (down, right) = a.steps[-2:]
        if columns == 1 or right == 1:
            turned = False
            leading = down if rows > 1 else columns
            run = columns
        else:
            turned = True
            leading = right
            run = rows
        if (turned and rows > 1 and down != 1) or leading < run:
            raise ValueError(f"cuBLAS: expected rows or columns in one piece, got {a.shape} in steps of {a.steps}")
        return cls(turned, max(1, leading), even_step(a.shape[:-2], a.steps[:-2]))


@dataclass(frozen=True, eq=False)
class BlasProduct:
    """One call of cuBLAS on operands, some of which may be scratch: a Launchable."""

    blas: Blas
    name: str
    operands: tuple[Operand, Operand, Operand]
    before: tuple[Any, ...]
    between: tuple[tuple[Any, ...], ...]
    after: tuple[Any, ...]

    @property
    def scratch(self) -> dict[int, LaunchScratch]:
        """The operands among them that are scratch, and the workspace."""
        return needed_scratch(*(operand.base for operand in self.operands), ROOM)

    def __call__(self, memory: ScratchMemory) -> None:
        self.blas.lend(workspace_address(memory))
        placed = zip(self.operands, self.between, strict=True)
        a, b, y = ((Pointer(operand.address(memory)), *how) for operand, how in placed)
        self.blas.call(self.name, *self.before, *a, *b, *y, *self.after)


class Blas:
    """A cuBLAS handle on a ``stream`` (its address): first that of ``device``, then the one that ``turn`` sets.

    It computes in the precision of ``device``, with the workspace ``lent`` (its address) that ``lend`` set last.
    """

    def __init__(self, device: CudaDevice) -> None:
        """Raise NetpartError if cuBLAS is missing or fails."""
        xp = device.xp
        stream = device.stream
        self.precision = device.precision
        self.calls = load_cublas(xp)
        self.handle = Pointer()
        self.call("cublasCreate_v2", ctypes.byref(self.handle))
        weakref.finalize(self, self.calls.cublasDestroy_v2, self.handle)
        self.turn(stream)

    def turn(self, stream: Any) -> None:
        """Make ``stream`` the one that products are enqueued on."""
        self.call("cublasSetStream_v2", self.handle, Pointer(stream.ptr))
        self.stream = int(stream.ptr)
        self.lent = 0  # cublasSetStream resets the workspace to cuBLAS's own

    def lend(self, workspace: int) -> None:
        """Make the WORKSPACE bytes at address ``workspace`` the workspace of the following products."""
        if workspace != self.lent:
            self.call("cublasSetWorkspace_v2", self.handle, Pointer(workspace), ctypes.c_size_t(WORKSPACE))
            self.lent = workspace

    def product(
        self, a: Array | LaunchScratch | Operand, b: Array | LaunchScratch | Operand,
        y: Array | LaunchScratch | Operand,
        scale: float = 1.0, add: bool = False,
    ) -> list[BlasProduct]:  # fmt: skip
        """The launches of y = scale · a b, or with ``add`` of y += that; operands are (..., rows, columns).

        They have the same leading axes and no extent of 0. cuBLAS reads memory in column-major order, in which a
        row-major matrix is its own transpose: so it computes yᵀ = bᵀ aᵀ. Raises ValueError for matrices neither of
        whose rows nor columns are contiguous.
        """
        return self._products(Operand.of(a), Operand.of(b), Operand.of(y), scale, add)

    def _products(self, a: Operand, b: Operand, y: Operand, scale: float, add: bool) -> list[BlasProduct]:
        layouts = [MatrixLayout.of(m) for m in (b, a, y)]
        if layouts[2].turned:
            return self._products(b.turned, a.turned, y.turned, scale, add)
        if any(
            layout.step is None for layout in layouts
        ):  # no single stride for the batch: one call for each first index
            parts = [self._products(a.part(i), b.part(i), y.part(i), scale, add) for i in range(y.shape[0])]
            return [product for part in parts for product in part]
        scalar = SCALARS[y.dtype.name]
        kind = Integer(TYPES[y.dtype.name])
        extents = Integer(y.shape[-1]), Integer(y.shape[-2]), Integer(a.shape[-1])
        how: list[tuple[Any, ...]] = [(kind, Integer(layout.leading)) for layout in layouts]
        after: tuple[Any, ...] = Integer(self.computes(y)), Integer(DEFAULT_ALGORITHM)
        name = "cublasGemmEx"
        count = prod(y.shape[:-2])
        if count > 1:
            how = [(*one, Long(layout.step or 0)) for one, layout in zip(how, layouts, strict=True)]
            name = "cublasGemmStridedBatchedEx"
            after = (Integer(count), *after)
        turned = Integer(layouts[0].turned), Integer(layouts[1].turned)
        before = self.handle, *turned, *extents, ctypes.byref(scalar(scale))
        between = how[0], (*how[1], ctypes.byref(scalar(add))), how[2]
        return [BlasProduct(self, name, (b, a, y), before, between, after)]

    def computes(self, y: Operand) -> int:
        """The cublasComputeType_t of products with the result ``y``."""
        return DOUBLE if y.dtype == "float64" else PRECISIONS[self.precision]

    def call(self, name: str, *arguments: Any) -> None:
        """Call ``name``. Raises NetpartError if it fails."""
        status = getattr(self.calls, name)(*arguments)
        if status:
            raise NetpartError(f"cuBLAS: expected {name} to succeed, got status {status}; try --kernels reference")

    def __repr__(self) -> str:
        return f"cuBLAS({self.precision})"


def workspace_address(memory: ScratchMemory) -> int:
    """The aligned address of the workspace during a run of an Op."""
    return align_workspace(operand_address(ROOM, memory))


def even_step(extents: Sequence[int], steps: Sequence[int]) -> int | None:
    """The single step that enumerates all elements of ``extents``; None if they need several."""
    along = [(n, step) for n, step in zip(extents, steps, strict=True) if n > 1]
    if any(outer != n * inner for (_, outer), (n, inner) in pairwise(along)):
        return None
    return along[-1][1] if along else 0


def load_cublas(xp: Any) -> ctypes.CDLL:
    """The cuBLAS that CuPy uses. Raises NetpartError if CuPy has loaded no cuBLAS."""
    soname = f"libcublas.so.{xp.cuda.runtime.runtimeGetVersion() // 1000}"
    try:
        xp.cuda.cublas  # noqa: B018 - finds the library, in whichever package, and loads it: then its name is enough
        return ctypes.CDLL(soname)
    except (ImportError, OSError) as error:
        hint = "pip install 'cupy-cuda13x[ctk]', or use --kernels reference"
        raise NetpartError(f"cuBLAS: expected {soname}, got {error}; {hint}") from error
