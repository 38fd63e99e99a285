"""Verbs, the base of the kernel mixins, and helpers for views of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from netpart.kernels.op import Array, Op
from netpart.spec import Shape


def _do_nothing(*scratch: Array) -> None:
    """The kernel of a part without elements: does nothing."""


NOTHING = Op(_do_nothing)


class Verbs:
    """Base of the kernel mixins: array module ``xp`` (numpy or cupy) and compute ``dtype``."""

    channels_last: ClassVar[bool] = False
    """True for kernels whose tensors with space are passed as (batch, space, channels) in memory."""
    weights_last: ClassVar[bool] = False
    """True for kernels whose weights of convolutions are passed as (filters, space, channels) in memory, unless another
    worker has a part of them."""
    adds: ClassVar[tuple[str, ...]] = ()
    """Verbs with an argument ``add`` that add to an array faster than a verb of its own adds what they wrote."""
    any_order: ClassVar[bool] = False
    """True for kernels whose copies, rotations and attention take tensors in any memory order as fast as in others."""
    scores_any_order: ClassVar[bool] = False
    """True for kernels of ``any_order`` whose attention takes them so even where it keeps all scores."""
    turns_rows: ClassVar[bool] = False
    """True for kernels whose attention, where it keeps no scores, rotates queries and keys while it reads them."""
    fuses: ClassVar[tuple[str, ...]] = ()
    """Kinds of activation that verbs with an argument ``activation`` compute faster than a separate verb."""
    fuses_back: ClassVar[tuple[str, ...]] = ()
    """Kinds of activation whose gradient verbs with an argument ``through`` compute faster than a separate verb."""
    gathers: ClassVar[bool] = False
    """True for kernels that do consecutive updates together, rather than each while its gradient is in the cache."""
    branches: ClassVar[bool] = False
    """True for kernels that may run concurrently where they do not depend on each other."""
    narrow: ClassVar[frozenset[str]] = frozenset({"copy"})
    """Verbs whose tensors may be bfloat16 (``kernels/bfloat16.py``). Their sums, biases and statistics are float32."""
    runs_on: ClassVar[str] = "cpu"
    """The device of their array module, unless another is given."""

    device: Any = None
    """The device that runs the kernels asynchronously; None: they run when called."""

    def __init__(self, xp: Any, dtype: Any, precision: str = "float32") -> None:
        """Kernels of ``dtype`` on the arrays of module ``xp``.

        ``precision`` ("float32", "tf32", "bfloat16") is that of a GPU's products of float32 numbers. Raises ValueError
        unless ``dtype`` is float32 or float64.
        """
        self.xp = xp
        self.dtype = xp.dtype(dtype)
        self.precision = precision
        if self.dtype not in (xp.dtype("float32"), xp.dtype("float64")):
            raise ValueError(f"kernels: expected dtype float32 or float64, got {self.dtype}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.xp.__name__}, {self.dtype})"


def as_matrix(a: Array, axes: int = 1) -> Array:
    """A 2-D view of contiguous ``a``: the first ``axes`` axes are the rows, the others the columns.

    Raises ValueError if ``a`` is not contiguous: a reshape would then write into a copy.
    """
    if not a.flags.c_contiguous:
        raise ValueError(f"kernels: expected a contiguous array, got shape {a.shape} with strides {a.strides}")
    return a.reshape(prod(a.shape[:axes]), prod(a.shape[axes:]))


def flatten_space(a: Array) -> Array:
    """A 3-D view (B, C, places) of ``a`` (B, C, *S), contiguous as written or with the channels last.

    Raises ValueError if ``a`` is neither.
    """
    if a.flags.c_contiguous:
        return a.reshape(*a.shape[:2], prod(a.shape[2:]))
    # as_matrix raises where a reshape of the transposed view would copy.
    last = as_matrix(a.transpose(0, *range(2, a.ndim), 1), a.ndim - 1)
    return last.reshape(a.shape[0], prod(a.shape[2:]), a.shape[1]).transpose(0, 2, 1)


def same_memory(a: Array, b: Array) -> bool:
    """True if ``a`` and ``b`` are the same elements of memory, in the same order."""
    if a.dtype != b.dtype or a.size != b.size or data_address(a) != data_address(b):
        return False
    return (a.shape, a.strides) == (b.shape, b.strides) or (a.flags.c_contiguous and b.flags.c_contiguous)


def data_address(a: Array) -> int:
    """The address of the first element, on the host or on a GPU."""
    return int(a.data.ptr if hasattr(a.data, "ptr") else a.__array_interface__["data"][0])


def scratch_view(flat: Array, *shape: int) -> Array:
    """A view of the first elements of 1-D scratch ``flat`` in ``shape``."""
    return flat[: prod(shape)].reshape(shape)


def array_blocks(arrays: Sequence[Array], size: int) -> list[tuple[Array, ...]]:
    """Cut arrays of one shape on axis 0 into views of about ``size`` elements, exactly if all are contiguous."""
    if all(a.flags.c_contiguous for a in arrays):
        arrays = [a.reshape(-1) for a in arrays]
    rows = max(1, size // max(1, prod(arrays[0].shape[1:])))
    return [tuple(a[lo : lo + rows] for a in arrays) for lo in range(0, len(arrays[0]), rows)]


def as_column(values: Array, axes: int) -> Array:
    """1-D ``values`` broadcastable along the first of 1 + ``axes`` axes."""
    shape: Shape = (len(values), *(1 for _ in range(axes)))
    return values.reshape(shape)
