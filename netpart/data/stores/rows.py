"""RowReader: the rows of a store as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.record_order import Permutation, RecordOrder
from netpart.data.row_scaling import RowScaling
from netpart.data.row_source import RowOutputs, RowSource
from netpart.data.stores.cache import RecordCache, Records
from netpart.data.stores.decode import Decode
from netpart.data.stores.record_store import RecordStore
from netpart.errors import DataError
from netpart.spec import Region, Shape

BUDGET = 256 * 2**20
"""Largest number of bytes of decoded records that a reader keeps."""


class RowReader(RowSource):
    """Rows of a store in file order, wrapping at its end: row r of step s is record (skip + s·batch + r) mod n.

    ``batch`` is the *global* mini-batch, so every cut of it reads disjoint rows of the same records.
    ``shuffle_key`` returns the order of each epoch (one pass over the records), to replace the order of the file; it
    must be the same on all workers. Elements become (x − mean) / std, where mean and std are scalars or arrays of the
    shape of a row. Raises DataError for a record that the decoder does not accept.
    """

    def __init__(
        self,
        store: RecordStore,
        decode: Decode,
        *,
        batch: int,
        skip: int = 0,
        shuffle_key: Permutation | None = None,
        mean: float | NDArray[Any] = 0.0,
        std: float | NDArray[Any] = 1.0,
        budget: int = BUDGET,
    ) -> None:
        self._cache = RecordCache(store, decode, budget)
        self._path = store.path
        self._order = RecordOrder(len(store), batch, skip, shuffle_key)
        self.shape: Shape = self._cache.shape
        self._scaling = RowScaling(store.path, self.shape, mean, std)

    def indices(self, step: int, first: int, last: int) -> NDArray[np.int64]:
        """Record numbers of rows ``first`` to ``last`` of the mini-batch of ``step``: (last − first,) int64."""
        return self._order.records(step, first, last)

    def records(self, step: int, first: int, last: int) -> Records:
        """The same numbers, as a slice if they are known to be consecutive."""
        return self._order.as_slice(step, first, last) or self.indices(step, first, last)

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        # Without data an empty crop, so that a read of labels alone copies no elements.
        crop = tuple(slice(a, b) if out.data is not None else slice(0, 0) for a, b in box)
        values, labels = self._cache.take(self.records(step, lo, hi), crop)
        if out.data is not None:
            self._scaling.apply(values, crop, out.data)
        if out.label is not None:
            self._require_labels()
            out.label[...] = labels

    def labels(self, box: Region) -> Shape:
        return self._cache.label_shape

    def _require_labels(self) -> None:
        if not self._cache.labelled:
            raise DataError(
                f"{self._path}: expected labels, got records without; set store_conf.has_label and store them"
            )
