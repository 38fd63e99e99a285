"""Repeated: the first mini-batches of a source over and over, from memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.rows import RowSource
from netpart.spec import Region

Kept = tuple[NDArray[Any] | None, NDArray[np.int32] | None]


class Repeated:
    """Step s reads what ``source`` has for step s modulo ``batches``. Each is made once, and then copied."""

    def __init__(self, source: RowSource, batches: int) -> None:
        self._source, self._batches, self.shape = source, batches, source.shape
        self._kept: dict[tuple[Any, ...], Kept] = {}

    def read(
        self,
        step: int,
        lo: int,
        hi: int,
        data_out: NDArray[Any] | None,
        label_out: NDArray[np.int32] | None,
        box: Region | None = None,
    ) -> None:
        """Fills rows ``lo`` to ``hi`` (excluded) of the mini-batch of ``step``; None: not wanted."""
        key = step % self._batches, lo, hi, box, data_out is None, label_out is None
        if key not in self._kept:
            self._source.read(step % self._batches, lo, hi, data_out, label_out, box)
            self._kept[key] = copied(data_out), copied(label_out)
            return
        for out, kept in zip((data_out, label_out), self._kept[key], strict=True):
            if out is not None and kept is not None:
                np.copyto(out, kept)


def copied(array: NDArray[Any] | None) -> NDArray[Any] | None:
    """A copy of what is there."""
    return None if array is None else array.copy()


def repeated(source: RowSource, batches: int) -> RowSource:
    """``source`` itself if ``batches`` is 0, else its first mini-batches over and over."""
    return Repeated(source, batches) if batches else source
