"""Prefetched: rows of a source, those of the next step read while this one is computed."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.rows import RowSource
from netpart.spec import Region, Shape

Outputs = tuple[NDArray[Any] | None, NDArray[np.int32] | None]
Place = tuple[int, int, Region | None]
"""First row, last row (excluded) and box of a read: each is read once per step."""


class Prefetched:
    """Reads what ``source`` reads; a thread, which ends when this object is collected, reads one step ahead.

    Takes the memory of one more mini-batch. An error of the read ahead is raised when its rows are asked for.
    """

    def __init__(self, source: RowSource) -> None:
        self.shape: Shape = source.shape
        self._source = source
        self._thread = ThreadPoolExecutor(1, "prefetch")
        self._ahead: dict[Place, tuple[int, Future[Outputs]]] = {}

    def read(
        self,
        step: int,
        lo: int,
        hi: int,
        data_out: NDArray[Any] | None,
        label_out: NDArray[np.int32] | None,
        box: Region | None = None,
    ) -> None:
        """Fills the outputs with rows ``lo`` to ``hi`` of the global mini-batch of ``step``, as the source would."""
        place = lo, hi, box
        coming, found = self._ahead.pop(place, (-1, None))
        if found is None or coming != step:
            self._source.read(step, lo, hi, data_out, label_out, box)
        else:
            data, label = found.result()
            copy(data_out, data)
            copy(label_out, label)
        spare = like(data_out), like(label_out)
        self._ahead[place] = step + 1, self._thread.submit(self._filled, step + 1, place, spare)

    def _filled(self, step: int, place: Place, outputs: Outputs) -> Outputs:
        lo, hi, box = place
        self._source.read(step, lo, hi, *outputs, box)
        return outputs


def copy(out: NDArray[Any] | None, values: NDArray[Any] | None) -> None:
    """Copies what was read ahead to where it is wanted, if it is."""
    if out is not None and values is not None:
        np.copyto(out, values)


def like(out: NDArray[Any] | None) -> NDArray[Any] | None:
    """Memory for as much again."""
    return None if out is None else np.empty_like(out)
