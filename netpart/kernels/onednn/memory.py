"""Memory descriptors, which define the order of a tensor in memory, and memories: a descriptor and an address."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any

from netpart.kernels.bfloat16 import ELEMENT
from netpart.kernels.onednn.library import Handle, HandleOwner, OneDnnRefused, load_onednn
from netpart.kernels.onednn.names import ElementType
from netpart.kernels.op import Array

TYPES = {"float32": ElementType.F32, "int32": ElementType.S32, "uint8": ElementType.U8, ELEMENT.name: ElementType.BF16}
ANY, MOST = 1, 12
"""The format tag that leaves the choice to the primitive, and the most axes of a descriptor."""

NOWHERE = Handle()
"""A null pointer: an optional argument that is absent."""


def dims_array(values: Sequence[int]) -> Any:
    """``values`` as a dnnl_dims_t, a C array."""
    return (ctypes.c_int64 * MOST)(*values)


class MemoryDesc(HandleOwner):
    """The shape, element type and order in memory of a tensor."""

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle, "dnnl_memory_desc_destroy")

    @classmethod
    def strided(cls, shape: Sequence[int], strides: Sequence[int], dtype: str = "float32") -> MemoryDesc:
        """A tensor with ``strides`` in elements. Raises OneDnnRefused if it is empty or of a dtype not in TYPES."""
        if not all(shape) or dtype not in TYPES:
            raise OneDnnRefused(f"oneDNN: expected elements of {', '.join(TYPES)}, got {dtype} of shape {tuple(shape)}")
        args = len(shape), dims_array(shape), TYPES[dtype], dims_array(strides)
        return cls(load_onednn().create("dnnl_memory_desc_create_with_strides", *args))

    @classmethod
    def of(cls, array: Array) -> MemoryDesc:
        """The order in memory of ``array``."""
        strides = tidy_strides(array.shape, [s // array.itemsize for s in array.strides])
        return cls.strided(array.shape, strides, array.dtype.name)

    @classmethod
    def last(cls, shape: Sequence[int], dtype: str = "float32") -> MemoryDesc:
        """A tensor (batch, channels, ...) with the channels innermost."""
        return cls.strided(shape, channels_last_strides(shape), dtype)

    @classmethod
    def any(cls, shape: Sequence[int], dtype: str = "float32") -> MemoryDesc:
        """A tensor whose order the primitive chooses; ``PrimitiveDesc.arg`` returns the choice."""
        args = len(shape), dims_array(shape), TYPES[dtype], ANY
        return cls(load_onednn().create("dnnl_memory_desc_create_with_tag", *args))

    @property
    def nbytes(self) -> int:
        """The bytes of the tensor, including the padding of blocked orders."""
        return int(load_onednn().calls.dnnl_memory_desc_get_size(self.handle))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemoryDesc):
            return NotImplemented
        return bool(load_onednn().calls.dnnl_memory_desc_equal(self.handle, other.handle))


class DnnlMemory(HandleOwner):
    """A tensor at an address, ``at``: that of ``array``, which it keeps alive, or one that ``move`` sets later."""

    def __init__(self, desc: MemoryDesc, array: Array | None = None) -> None:
        lib = load_onednn()
        self.at = 0 if array is None else _numpy_address(array)
        place = NOWHERE if array is None else Handle(self.at)
        super().__init__(lib.create("dnnl_memory_create", desc.handle, lib.engine, place), "dnnl_memory_destroy")
        self.desc = desc
        self.array: Array = array

    @classmethod
    def of(cls, array: Array) -> DnnlMemory:
        """The memory of ``array``, in its order."""
        return cls(MemoryDesc.of(array), array)

    def move(self, array: Array) -> None:
        """Make ``array`` the memory of the tensor."""
        self.at = _numpy_address(array)
        load_onednn().call("dnnl_memory_set_data_handle", self.handle, Handle(self.at))
        self.array = array


def _numpy_address(array: Array) -> int:
    """The address of the first element."""
    return int(array.__array_interface__["data"][0])


def dense_strides(shape: Sequence[int]) -> list[int]:
    """Strides, in elements, of a C-contiguous tensor."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def channels_last_strides(shape: Sequence[int]) -> list[int]:
    """Strides, in elements, of a tensor (batch, channels, ...) with the channels innermost."""
    rows, channels, *space = shape
    inner = dense_strides((rows, *space, channels))
    return [inner[0], inner[-1], *inner[1:-1]]


def tidy_strides(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The strides in channels-last or C order if they differ from it only on axes of extent 1; else unchanged."""
    # NumPy gives an axis of extent 1 any stride, and comparisons with channels-last order must not depend on it.
    wanted = [a for a, n in enumerate(shape) if n > 1]
    for usual in (channels_last_strides, dense_strides) if len(shape) > 2 else (dense_strides,):
        found = usual(shape)
        if all(found[a] == strides[a] for a in wanted):
            return found
    return list(strides)


def flat_memories(*arrays: Array) -> list[DnnlMemory]:
    """Arrays of one shape as 1-D memories. Raises OneDnnRefused unless ``share_layout`` is true of them."""
    if not share_layout(*arrays):
        raise OneDnnRefused(
            f"oneDNN: expected arrays of one memory order without gaps, got strides {[a.strides for a in arrays]}"
        )
    return [DnnlMemory(MemoryDesc.strided((a.size,), (1,), a.dtype.name), a) for a in arrays]


def share_layout(*arrays: Array) -> bool:
    """True if all have the same shape and the same order of axes in memory, whichever, without gaps."""
    shapes = {a.shape for a in arrays}
    steps = {_long_axis_strides(a) for a in arrays}
    return len(shapes) == len(steps) == 1 and _has_no_gaps(arrays[0])


def permutes_memory(dst: Array, src: Array) -> bool:
    """True if both fill their memory without gaps, in different orders of their axes."""
    return _has_no_gaps(dst) and _has_no_gaps(src) and _long_axis_strides(dst) != _long_axis_strides(src)


def _long_axis_strides(array: Array) -> tuple[int, ...]:
    """Strides, in elements, of the axes that have more than one element."""
    return tuple(s // array.itemsize for s, n in zip(array.strides, array.shape, strict=True) if n > 1)


def _has_no_gaps(array: Array) -> bool:
    run = array.itemsize
    for step, extent in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if step != run:
            return False
        run *= extent
    return True
