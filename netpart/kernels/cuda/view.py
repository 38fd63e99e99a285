"""Strided arrays as kernels take them, by value: the structs of view.cuh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from netpart.kernels.op import Array
from netpart.kernels.verbs import data_address

AXES = 8
DTYPE = np.dtype([("data", "u8"), ("rank", "i8"), ("shape", "i8", AXES), ("stride", "i8", AXES)])
"""struct Strided of view.cuh."""


class StridedView(NamedTuple):
    """A strided array as kernels take it: ``value``, passed by value, is a struct Strided of ``array``."""

    array: Array
    value: np.ndarray[Any, Any]

    @property
    def contiguous(self) -> bool:
        """True if element i is at address i."""
        return int(self.value["rank"]) == 1 and int(self.value["stride"][0]) == 1


def collapsed_views(*arrays: Array) -> list[StridedView]:
    """Views of arrays of one shape, with as few axes as all of them allow, sorted by the first one's strides.

    The axes are in descending order of stride, so the numbering of the elements may differ from that of the arrays, but
    element i is the same in each view. Views of arrays with the same order in memory and no gaps are contiguous.
    """
    kept = [axis for axis, length in enumerate(arrays[0].shape) if length != 1]
    kept.sort(key=lambda axis: -abs(arrays[0].strides[axis]))
    shape: list[int] = []
    steps: list[list[int]] = []
    for axis in kept:
        length = arrays[0].shape[axis]
        step = [a.strides[axis] // a.itemsize for a in arrays]
        if steps and all(outer == inner * length for outer, inner in zip(steps[-1], step, strict=True)):
            shape[-1] = shape[-1] * length
            steps[-1] = step
        else:
            shape = [*shape, length]
            steps = [*steps, step]
    columns = zip(*steps, strict=True) if steps else [()] * len(arrays)
    return [
        StridedView(a, strided_struct(data_address(a), shape or [1], list(step) or [1]))
        for a, step in zip(arrays, columns, strict=True)
    ]


def strided_view(array: Array) -> StridedView:
    """The view of one array, with its own axes."""
    return StridedView(
        array, strided_struct(data_address(array), array.shape, [step // array.itemsize for step in array.strides])
    )


def strided_struct(address: int, shape: Sequence[int], steps: Sequence[int]) -> np.ndarray[Any, Any]:
    """A struct Strided; missing axes have extent 1."""
    found = np.zeros((), DTYPE)
    found["data"] = address
    found["rank"] = len(shape)
    found["shape"] = 1
    found["shape"][: len(shape)] = shape
    found["stride"][: len(shape)] = steps
    return found
