"""RecordOrder: the record of each row of each global mini-batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Permutation = Callable[[int], NDArray[Any]]
"""Epoch -> the order of the records in that epoch: a permutation of their numbers."""


class RecordOrder:
    """Row r of step s is record (skip + s·batch + r) mod ``count``, or the element of ``permutation`` at that index.

    ``batch`` is the *global* mini-batch, so every cut of it has disjoint rows of the same records; an epoch is one pass
    over the records. ``permutation`` must be the same on all workers.
    """

    def __init__(self, count: int, batch: int, skip: int = 0, permutation: Permutation | None = None) -> None:
        self._count = count
        self._batch = batch
        self._skip = skip % count
        self._permutation = permutation
        self._epochs: dict[int, NDArray[np.int64]] = {}

    def records(self, step: int, first: int, last: int) -> NDArray[np.int64]:
        """Record numbers of rows ``first`` to ``last`` of the mini-batch of ``step``: (last − first,) int64."""
        start = self._skip + step * self._batch
        epochs, places = np.divmod(np.arange(start + first, start + last, dtype=np.int64), self._count)
        if self._permutation is None:
            return places
        for epoch in np.unique(epochs).tolist():
            rows = epochs == epoch
            places[rows] = self._epoch(epoch, self._permutation)[places[rows]]
        return places

    def as_slice(self, step: int, first: int, last: int) -> slice | None:
        """The same numbers as a slice, if they are in file order and do not wrap around; else None."""
        start = (self._skip + step * self._batch + first) % self._count
        end = start + last - first
        return slice(start, end) if self._permutation is None and end <= self._count else None

    def _epoch(self, epoch: int, permutation: Permutation) -> NDArray[np.int64]:
        if epoch not in self._epochs:
            # A mini-batch may span the end of one epoch and the start of the next, so the neighbours are kept too.
            self._epochs = {e: p for e, p in self._epochs.items() if abs(e - epoch) <= 1}
            self._epochs[epoch] = np.asarray(permutation(epoch), np.int64)
        return self._epochs[epoch]
