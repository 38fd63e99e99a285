"""Repeated: the first mini-batches of a source over and over, from memory."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from netpart.data.source import RowOutputs, RowSource
from netpart.spec import Region, Shape


class RepeatedRows(RowSource):
    """Step s reads what ``source`` has for step s modulo ``batches``. Each is made once, and then copied."""

    def __init__(self, source: RowSource, batches: int) -> None:
        self._source = source
        self._batches = batches
        self.shape = source.shape
        self._kept: dict[tuple[Any, ...], RowOutputs] = {}

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        key = step % self._batches, lo, hi, box, *(array is None for array in out)
        if key not in self._kept:
            self._source.fill(step % self._batches, lo, hi, box, out)
            self._kept[key] = RowOutputs(*map(_copy_or_none, out))
        else:
            out.copy_from(self._kept[key])

    def labels(self, box: Region) -> Shape:
        return self._source.labels(box)


def _copy_or_none(array: NDArray[Any] | None) -> NDArray[Any] | None:
    """A copy of what is there."""
    return None if array is None else array.copy()


def repeat_batches(source: RowSource, batches: int) -> RowSource:
    """``source`` itself if ``batches`` is 0, else its first mini-batches over and over."""
    return RepeatedRows(source, batches) if batches else source
