"""Bfloat16 in NumPy, which has no such type: an array of uint16 holds the upper halves of float32 numbers.

x86 stores and converts them the same way. A number is rounded to the nearest, of two equally near to the one with an
even last bit (IEEE 754-2019, section 4.3.1): its relative error is at most 2⁻⁸.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from netpart.kernels.op import Array
from netpart.kernels.verbs import array_blocks

ELEMENT = np.dtype(np.uint16)
"""The dtype of the arrays that hold bfloat16; no kernel computes with whole numbers of this dtype."""
STRIP = 1 << 15
"""Elements that are converted at a time: as many as fit the second-level cache."""
_QUIET_NAN = 0x7FC0


def is_bfloat16(array: Array) -> bool:
    """True if ``array`` holds bfloat16."""
    return array is not None and array.dtype == ELEMENT


def widened(array: Array) -> Array:
    """``array`` in float32, exactly; itself if it does not hold bfloat16."""
    return np.left_shift(array, 16, dtype=np.uint32).view(np.float32) if is_bfloat16(array) else array


def rounded(array: Array) -> Array:
    """Float32 ``array`` in bfloat16. NaN stays NaN, and a number beyond the largest becomes infinite."""
    bits = array.view(np.uint32)
    found = ((bits + (0x7FFF + (bits >> 16 & 1))) >> 16).astype(ELEMENT)
    found[np.isnan(array)] = _QUIET_NAN
    return found


def write_rounded(dst: Array, compute: Callable[..., Array], *srcs: Array) -> None:
    """dst = compute(*srcs), strip by strip. The arrays have one shape, and hold float32 or bfloat16; dst may be one of
    ``srcs``."""
    for out, *read in array_blocks([dst, *srcs], STRIP):
        made = compute(*map(widened, read))
        np.copyto(out, rounded(made) if is_bfloat16(out) else made)


def write_converted(dst: Array, src: Array) -> None:
    """dst = src, of which one holds float32 and the other bfloat16."""
    write_rounded(dst, _unchanged, src)


def _unchanged(array: Array) -> Array:
    """``array``, which is only to be converted."""
    return array
