"""Copies of large arrays by several threads: a GPU trains small nets faster than one thread copies their rows."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.threads import kernel_threads

PIECE = 4 << 20
"""Bytes of the smallest piece: about as long as it takes to hand a piece to a thread, times ten."""


def copy_in_pieces(target: NDArray[Any], values: NDArray[Any]) -> None:
    """Copy ``values`` to ``target``, of the same shape, by as many threads as kernels may use."""
    threads = kernel_threads(os.environ)
    pieces = min(threads, target.nbytes // PIECE, len(target) if target.ndim else 0)
    if pieces < 2:
        np.copyto(target, values)
        return
    ends = [len(target) * i // pieces for i in range(pieces + 1)]
    parts = [slice(*pair) for pair in pairwise(ends)]
    # NumPy lets other threads run while it copies.
    list(_copy_threads(threads).map(lambda part: np.copyto(target[part], values[part]), parts))


@cache
def _copy_threads(count: int) -> ThreadPoolExecutor:
    """``count`` threads, which wait for the next copy until the process ends."""
    return ThreadPoolExecutor(count, "copy")
