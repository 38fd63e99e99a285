"""Zeroing and copying arrays, for other verbs as well; as many bytes at a time as are contiguous and aligned."""

from __future__ import annotations

from typing import Any

import numpy as np

from netpart.kernels.cuda.launch import CudaVerbs
from netpart.kernels.cuda.view import StridedView, collapsed_views
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, same_memory

WIDTHS = 16, 8, 4, 2, 1
"""The bytes that a thread may move at once, in descending order."""


class MoveVerbs(CudaVerbs):
    """dst and src: one shape and any dtype, each possibly a strided view."""

    def zeroed(self, dst: Array) -> Op:
        """dst = 0."""
        return self._moved("zero", dst)

    def copied(self, dst: Array, src: Array) -> Op:
        """dst = src, which may be dst itself. Raises ValueError unless they have one dtype."""
        if dst.dtype != src.dtype:
            raise ValueError(f"copy: expected arrays of one dtype, got {dst.dtype} and {src.dtype}")
        return NOTHING if same_memory(dst, src) else self._moved("copy", dst, src)

    def _moved(self, name: str, *arrays: Array) -> Op:
        if not arrays[0].size:
            return NOTHING
        found = collapsed_views(*arrays)
        itemsize = int(arrays[0].itemsize)
        width = next(
            width for width in WIDTHS if width <= itemsize or all(_fits_width(one, itemsize, width) for one in found)
        )
        times = width // itemsize
        size, wider = (
            arrays[0].size // times,
            [StridedView(one.array, _widen_struct(one.value, times)) for one in found],
        )
        return self.launch("arrays.cu", f"{name}_{8 * width}", size, *wider, size)


def _fits_width(view: StridedView, itemsize: int, width: int) -> bool:
    """True if the contiguous runs of ``view`` consist of whole pieces of ``width`` bytes, aligned to ``width``."""
    rank = int(view.value["rank"])
    shape = view.value["shape"]
    steps = view.value["stride"]
    pieces = [int(shape[rank - 1]), *(int(step) for step in steps[: rank - 1])]
    return (
        int(steps[rank - 1]) == 1
        and int(view.value["data"]) % width == 0
        and all(piece * itemsize % width == 0 for piece in pieces)
    )


def _widen_struct(value: np.ndarray[Any, Any], times: int) -> np.ndarray[Any, Any]:
    """The same struct, of elements ``times`` as wide."""
    found = value.copy()
    last = int(value["rank"]) - 1
    found["shape"][last] //= times
    found["stride"][:last] //= times
    return found
