"""Several views in one parameter of a kernel, and arrays that are only described."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from netpart.kernels.cuda.view import DTYPE, StridedView
from netpart.kernels.op import Array
from netpart.kernels.verbs import data_address

MOST = 8
"""Views that struct Several of several.cuh has room for."""


def pack_views(views: Sequence[StridedView]) -> StridedView:
    """At most MOST views as one struct Several."""
    found = np.zeros((), [("view", DTYPE, MOST)])
    for k, one in enumerate(views):
        found["view"][k] = one.value
    return StridedView([one.array for one in views], found)


def view_batches(result: Array, arrays: Sequence[Array]) -> Iterator[Sequence[Array]]:
    """``arrays``, at least one list, as many at a time as one kernel takes: of all but the first of these the
    ``result`` so far is one."""
    yield arrays[:MOST]
    for start in range(MOST, len(arrays), MOST - 1):
        yield [result, *arrays[start : start + MOST - 1]]


class ArrayAddress(NamedTuple):
    """Where an array begins, in CuPy's words."""

    ptr: int


@dataclass(frozen=True)
class DescribedArray:
    """An array that is described and not there: the address of an element is its number, which grows by ``strides``."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int = 0
    itemsize: int = 1
    owner: Array = None
    """What must live as long, if an address is one after all."""

    @property
    def data(self) -> ArrayAddress:
        return ArrayAddress(self.start)


def select_axes(array: Array, axes: Sequence[int]) -> DescribedArray:
    """``array`` on some of its axes, at place 0 on the others."""
    shape, strides = (tuple(values[axis] for axis in axes) for values in (array.shape, array.strides))
    return DescribedArray(shape, strides, data_address(array), int(array.itemsize), array)
