"""PrefetchedRows: rows of a source; those of the next step are read while the current step is computed."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.row_source import RowOutputs, RowSource
from netpart.spec import Region, Shape

Place = tuple[int, int, Region]
"""First row, last row (excluded) and box of a read: each is read once per step."""


class PrefetchedRows(RowSource):
    """The rows of ``source``, which a thread reads one step ahead. The thread ends when this object is collected.

    It needs the memory of one more mini-batch. An error of reading ahead is raised when its rows are requested.
    """

    def __init__(self, source: RowSource) -> None:
        self.shape: Shape = source.shape
        self._source = source
        self._thread = ThreadPoolExecutor(1, "prefetch")
        self._ahead: dict[Place, tuple[int, Future[RowOutputs]]] = {}

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        place = lo, hi, box
        # A miss in the first step, after a resume, and for a phase whose steps start again at 0.
        coming, found = self._ahead.pop(place, (-1, None))
        if found is None or coming != step:
            # Also by the thread: a source is read by one thread at a time.
            self._thread.submit(self._source.fill, step, lo, hi, box, out).result()
        else:
            out.copy_from(found.result())
        # New buffers, not ``out``: the caller computes with ``out`` while the thread fills these.
        spare = RowOutputs(*map(_empty_or_none, out))
        self._ahead[place] = step + 1, self._thread.submit(self._filled, step + 1, place, spare)

    def labels(self, box: Region) -> Shape:
        return self._source.labels(box)

    def _filled(self, step: int, place: Place, outputs: RowOutputs) -> RowOutputs:
        self._source.fill(step, *place, outputs)
        return outputs


def _empty_or_none(out: NDArray[Any] | None) -> NDArray[Any] | None:
    """A new array of the same shape and dtype; None for None."""
    return None if out is None else np.empty_like(out)
