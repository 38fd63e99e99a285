"""RecordCache: decoded records of a store, kept in memory if all of them fit into a budget of bytes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.stores.decode import Decode, Label
from netpart.data.stores.record_store import RecordStore
from netpart.errors import DataError

Crop = tuple[slice, ...]
Records = slice | NDArray[np.int64]
"""Numbers of records: a slice if they are consecutive, so that taking them copies nothing, else an array."""


class RecordCache:
    """Records as arrays. If all of them fit into ``budget`` bytes, each is decoded once, else at every access.

    The first record defines shape and dtype of all. Raises DataError, with file and record, if a record cannot be
    decoded or differs from the first.
    """

    def __init__(self, store: RecordStore, decode: Decode, budget: int) -> None:
        self._store = store
        self._decode = decode
        first, label = self._decoded(0)
        self.shape = first.shape
        self.dtype = first.dtype
        self.labelled = label is not None
        self.label_shape = np.shape(label) if label is not None else ()
        self._label_dtype = label.dtype if isinstance(label, np.ndarray) else np.dtype(np.int32)
        # Per record: its elements, its labels and 1 byte of ``_known``. All or nothing: with a part of the records
        # kept, ``take`` could not return a view.
        each = first.nbytes + self._label_dtype.itemsize * prod(self.label_shape) + 1
        self.kept = len(store) * each <= budget
        rows = len(store) if self.kept else 0
        self._values = np.empty((rows, *self.shape), self.dtype)
        self._labels = np.zeros((rows, *self.label_shape), self._label_dtype)
        self._known = np.zeros(rows, np.bool_)
        self._complete = False

    def take(self, records: Records, crop: Crop) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return elements (records, *crop) and labels (records, *label_shape). They may be views: do not write."""
        if not self.kept:
            return self._fresh(_record_numbers(records), crop)
        if not self._complete:
            self._complete_with(_record_numbers(records))
        return self._values[(records, *crop)], self._labels[records]

    def _complete_with(self, records: NDArray[np.int64]) -> None:
        """Decode those of ``records`` that are not known yet."""
        for record in np.unique(records[~self._known[records]]).tolist():
            self._values[record], self._labels[record] = self._checked(record)
            self._known[record] = True
        self._complete = bool(self._known.all())

    def _fresh(self, records: NDArray[np.int64], crop: Crop) -> tuple[NDArray[Any], NDArray[Any]]:
        """Decode ``records`` without keeping them."""
        found = [self._checked(record) for record in records.tolist()]
        values = np.empty((len(found), *(axis.stop - axis.start for axis in crop)), self.dtype)
        for row, (value, _) in zip(values, found, strict=True):
            row[...] = value[crop]
        return values, np.array([label for _, label in found], self._label_dtype)

    def _checked(self, record: int) -> tuple[NDArray[Any], int | NDArray[Any]]:
        values, label = self._decoded(record)
        if values.dtype != self.dtype:
            who = self._store.place(record)
            like = f"expected {self.dtype} elements like record 0"
            raise DataError(f"{who}: {like}, got {values.dtype}; store one kind")
        return values, 0 if label is None else label

    def _decoded(self, record: int) -> tuple[NDArray[Any], Label]:
        try:
            return self._decode(self._store.value(record))
        except DataError as error:
            raise DataError(f"{self._store.place(record)}: {error}") from error


def _record_numbers(records: Records) -> NDArray[np.int64]:
    """The record numbers as an array."""
    return np.arange(records.start, records.stop) if isinstance(records, slice) else records
