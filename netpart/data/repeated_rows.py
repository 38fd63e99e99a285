"""RepeatedRows: the first mini-batches of a source, repeated from memory."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from netpart.data.row_source import RowOutputs, RowSource
from netpart.spec import Region, Shape


class RepeatedRows(RowSource):
    """Step s returns the rows of ``source`` for step s modulo ``batches``. Each is read once and then copied."""

    def __init__(self, source: RowSource, batches: int) -> None:
        self._source = source
        self._batches = batches
        self.shape = source.shape
        self._kept: dict[tuple[Any, ...], RowOutputs] = {}

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        # Which outputs are wanted is part of the key: a read of labels alone must not serve a later read of data.
        key = step % self._batches, lo, hi, box, *(array is None for array in out)
        if key not in self._kept:
            self._source.fill(step % self._batches, lo, hi, box, out)
            self._kept[key] = RowOutputs(*map(_copy_or_none, out))
        else:
            out.copy_from(self._kept[key])

    def labels(self, box: Region) -> Shape:
        return self._source.labels(box)


def _copy_or_none(array: NDArray[Any] | None) -> NDArray[Any] | None:
    """A copy of the array in its memory order, from which it is copied fastest; None for None."""
    return None if array is None else array.copy("K")


def repeat_batches(source: RowSource, batches: int) -> RowSource:
    """Return ``source`` itself if ``batches`` is 0, else a source that repeats its first ``batches`` mini-batches."""
    return RepeatedRows(source, batches) if batches else source
