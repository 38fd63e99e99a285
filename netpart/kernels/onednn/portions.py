"""Sums over many places, in portions.

oneDNN adds up the places of a channel one after another in float32, so that its rounding error grows with their number:
half a million squares lose four of seven digits. Portions lose little, and their sums are added in float64.
Variances are merged as in Chan et al., Algorithms for Computing the Sample Variance, 1983, equation 2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, prod
from typing import Any

import numpy as np

from netpart.kernels.bfloat16 import rounded
from netpart.kernels.onednn.calls import Calls
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc, dense_strides
from netpart.kernels.onednn.names import Arg
from netpart.kernels.onednn.primitive import PrimitiveDesc
from netpart.kernels.op import Array
from netpart.spec import Shape

MOST = 1024
"""The most places that oneDNN adds up in one run."""
IMAGES = 16
"""The most images of a portion. oneDNN divides images evenly among its threads, but not the places of one image."""


def count_places(shape: Shape) -> int:
    """The elements of a channel of a tensor (batch, channels, ...)."""
    return shape[0] * prod(shape[2:])


def cut_portions(shape: Shape) -> list[tuple[int, int]]:
    """(places, number of such portions): the full ones, and the rest."""
    full, rest = divmod(count_places(shape), MOST)
    return [(size, times) for size, times in ((MOST, full), (rest, 1)) if size and times]


def portion_desc(shape: Shape, size: int, dtype: str = "float32") -> MemoryDesc:
    """The descriptor of ``size`` places of a channels-last tensor, as several small images."""
    images = gcd(size, IMAGES)
    return MemoryDesc.last((images, shape[1], 1, size // images), dtype)


class PortionSums:
    """The results of all portions: a row for each, with a float32 number for each channel."""

    def __init__(self, shape: Shape) -> None:
        self.sizes = np.array([size for size, times in cut_portions(shape) for _ in range(times)], np.float64)[:, None]
        self.rows: Array = np.empty((len(self.sizes), shape[1]), np.float32)

    def total(self, out: Array) -> Callable[[], Any]:
        """The function that writes the sum of the rows to ``out``."""
        return lambda: np.copyto(out, self.rows.sum(axis=0, dtype=np.float64), casting="same_kind")


def add_channel_sums(calls: Calls, source: DnnlMemory, shape: Shape, out: Array, dtype: str = "float32") -> None:
    """Append ``out`` (C,) = the sum over all places of channels-last ``source``, of elements ``dtype``."""
    rows = PortionSums(shape)
    row: Array = np.ones((1, MOST), np.float32)
    ones = DnnlMemory.of(row if dtype == "float32" else rounded(row))
    found = [(_ones_product(size, times, shape[1], dtype), 1) for size, times in cut_portions(shape)]
    calls.along(found, {Arg.SRC: ones}, {Arg.WEIGHTS: source, Arg.DST: DnnlMemory.of(rows.rows)})
    calls.then(rows.total(out))


def _ones_product(size: int, times: int, channels: int, dtype: str) -> PrimitiveDesc:
    """The products of a row of ones and ``times`` portions of ``size`` places of ``dtype``: their sums, in float32.

    One primitive for all portions, so that all threads have some of them.
    """
    shapes = ((1, 1, size), dtype), ((times, size, channels), dtype), ((times, 1, channels), "float32")
    row, matrices, sums = (MemoryDesc.strided(shape, dense_strides(shape), kind) for shape, kind in shapes)
    return PrimitiveDesc("matmul", row, matrices, None, sums)


def merge_moments(means: PortionSums, variances: PortionSums, mean: Array, variance: Array) -> Callable[[], None]:
    """The function that computes ``mean`` and ``variance`` from those of the portions."""
    shares = means.sizes / means.sizes.sum()

    def run() -> None:
        centre = (means.rows * shares).sum(axis=0)
        spread = ((variances.rows + (means.rows - centre) ** 2) * shares).sum(axis=0)
        np.copyto(mean, centre, casting="same_kind")
        np.copyto(variance, spread, casting="same_kind")

    return run
