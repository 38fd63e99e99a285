"""Several views in one parameter of a kernel, and descriptions of arrays without memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from netpart.kernels.cuda.view import DTYPE, StridedView
from netpart.kernels.op import Array
from netpart.kernels.verbs import data_address

MOST = 8
"""The most views of a struct Several of several.cuh."""


def pack_views(views: Sequence[StridedView]) -> StridedView:
    """At most MOST views as one struct Several."""
    found = np.zeros((), [("view", DTYPE, MOST)])
    for k, one in enumerate(views):
        found["view"][k] = one.value
    return StridedView([one.array for one in views], found)


def view_batches(result: Array, arrays: Sequence[Array]) -> Iterator[Sequence[Array]]:
    """Cut ``arrays`` into lists of at most MOST, at least one list; each but the first begins with ``result``.

    So a kernel that combines a list into ``result`` combines all arrays, list by list.
    """
    yield arrays[:MOST]
    for start in range(MOST, len(arrays), MOST - 1):
        yield [result, *arrays[start : start + MOST - 1]]


class ArrayAddress(NamedTuple):
    """The address of an array, as CuPy's ``data`` has it."""

    ptr: int


@dataclass(frozen=True)
class DescribedArray:
    """An array without memory: the "address" of an element is a number, ``start`` plus its index times ``strides``."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int = 0
    itemsize: int = 1
    owner: Array = None
    """The object to keep alive, if the addresses are real ones."""

    @property
    def data(self) -> ArrayAddress:
        return ArrayAddress(self.start)


def select_axes(array: Array, axes: Sequence[int]) -> DescribedArray:
    """The description of ``array`` on ``axes`` alone, at index 0 on the others."""
    shape, strides = (tuple(values[axis] for axis in axes) for values in (array.shape, array.strides))
    return DescribedArray(shape, strides, data_address(array), int(array.itemsize), array)
