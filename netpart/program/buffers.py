"""Buffers and views: the memory of a Program, named before any of it is allocated."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from netpart.spec import BFLOAT16, FLOAT, INT, RECORD, TENSOR, Region, Shape

ARENA, FIXED, ALIAS = "arena", "fixed", "alias"
"""Kinds of buffers: an ARENA buffer lives from its first to its last use in a step, a FIXED one as long as the worker;
an ALIAS is a range of another buffer."""

_ITEM_SIZES = {
    INT: 4, BFLOAT16: 2, "int32": 4, "uint8": 1, "bool": 1, "float64": 8, "float32": 4, "int64": 8, "uint32": 4,
}  # fmt: skip
"""Bytes of one element, by dtype."""

Order = tuple[int, ...]
"""Axes of a tensor from the slowest to the fastest in memory; () means the order of its shape (row-major)."""


@dataclass(frozen=True)
class Buffer:
    """One array. ``kind`` sets how long it lives; an ALIAS starts at element ``offset`` of flat buffer ``parent``.

    ``dtype`` is FLOAT (the compute dtype), BFLOAT16, INT, RECORD (one opaque object) or a NumPy dtype name. ``order``
    are the axes from the slowest to the fastest in memory; () means row-major.
    """

    name: str
    shape: Shape
    dtype: str = FLOAT
    kind: str = ARENA
    parent: int = -1
    offset: int = 0
    order: Order = ()

    def nbytes(self, float_size: int) -> int:
        """Bytes of the array if a FLOAT has ``float_size`` bytes."""
        return prod(self.shape) * item_size(self.dtype, float_size)


@dataclass(frozen=True)
class View:
    """A box of a buffer: ``box`` is relative to the buffer and covers all its axes."""

    buffer: int
    box: Region

    @property
    def shape(self) -> Shape:
        return tuple(hi - lo for lo, hi in self.box)

    def crop(self, region: Region, origin: Region) -> View:
        """The view of ``region``, given that this view holds ``origin`` (both in the tensor's coordinates)."""
        if region == origin:
            return self
        offsets = [start - lo for (start, _), (lo, _) in zip(self.box, origin, strict=True)]
        return View(self.buffer, tuple((lo + d, hi + d) for (lo, hi), d in zip(region, offsets, strict=True)))


def item_size(dtype: str, float_size: int) -> int:
    """Bytes of one element; a RECORD counts as none, a TENSOR as it is without bfloat16."""
    if dtype in (FLOAT, TENSOR):
        return float_size
    if dtype == RECORD:
        return 0
    return _ITEM_SIZES[dtype]


def number_element(dtype: str, element: str) -> str:
    """``element`` (FLOAT or BFLOAT16) if ``dtype`` is one of these, else ``dtype``."""
    return element if dtype in (FLOAT, BFLOAT16) else dtype


def is_contiguous(view: View, shape: Shape, order: Order = ()) -> bool:
    """True if ``view`` of a buffer of ``shape`` is one run of memory: in ``order``, complete on all axes after the last
    cut one, and of extent 1 on all axes before it."""
    cut = False
    for axis in reversed(order or range(len(shape))):
        (lo, hi) = view.box[axis]
        n = shape[axis]
        if cut and hi - lo > 1:
            return False
        cut = cut or hi - lo < n
    return True


def move_axes(order: Order, moved: Order, rank: int) -> Order:
    """The ``order`` of a tensor of ``rank`` axes after its axes were moved: axis i is then the former ``moved[i]``."""
    return tuple(moved.index(axis) for axis in order or range(rank)) if moved else order


def inverse_axes(moved: Order) -> Order:
    """The ``moved`` of ``move_axes`` that undoes it."""
    return tuple(moved.index(axis) for axis in range(len(moved)))


def same_layout(shape: Shape, a: Order, b: Order) -> bool:
    """True if an array of ``shape`` is laid out the same in orders ``a`` and ``b``; axes of extent 1 do not matter."""
    first, second = ([axis for axis in order or range(len(shape)) if shape[axis] != 1] for order in (a, b))
    return first == second or 0 in shape
