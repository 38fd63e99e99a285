"""Stores of records (kvfile) made of arrays and of LMDB stores."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np

from netpart.data.arrays.array_rows import ArrayRows
from netpart.data.arrays.row_array import RowArray
from netpart.data.record_order import RecordOrder
from netpart.data.row_scaling import RowScaling
from netpart.data.stores.datum import decode_sample
from netpart.data.stores.lmdb_store import LmdbStore
from netpart.data.stores.record import encode_record
from netpart.data.stores.store import KvWriter
from netpart.errors import DataError
from netpart.progress import track_items

BLOCK = 1 << 22
"""Elements per read."""


def convert_array(data: RowArray, label: RowArray | None, target: Path) -> int:
    """Write a row of ``data`` and its label per record; return the number of records.

    Rows are kept as bytes if they are uint8, else as float32. Raises DataError for rows with several labels.
    """
    if label is not None and len(label.shape) > 1:
        got = f"shape {label.shape}"
        raise DataError(f"{label.place}: expected one label per row, as records have, got {got}; use type: kArrayInput")
    count = len(data)
    rows = ArrayRows(data, label, RecordOrder(count, count), RowScaling(target, data.shape[1:]))
    block = max(1, BLOCK // prod(data.shape[1:]))
    with KvWriter(target) as writer:
        for lo in track_items(range(0, count, block), f"{block} rows:"):
            _write_rows(rows, data, label is not None, (lo, min(lo + block, count)), writer)
    return count


def _write_rows(rows: ArrayRows, data: RowArray, labelled: bool, ends: tuple[int, int], writer: KvWriter) -> None:
    """Write the rows between ``ends``."""
    lo, hi = ends
    values = np.empty((hi - lo, *data.shape[1:]), np.uint8 if data.dtype == np.uint8 else np.float32)
    labels = np.zeros(hi - lo, np.int32)
    rows.read(0, lo, hi, values, labels if labelled else None)
    for value, label in zip(values, labels.tolist(), strict=True):
        writer.add(value, label)


def convert_lmdb(source: Path, target: Path) -> int:
    """Write the records of an LMDB store of Caffe's or SINGA's, with their keys; return their number."""
    with LmdbStore(source) as store, KvWriter(target) as writer:
        for i in track_items(range(len(store)), "record"):
            try:
                writer.put(store.key(i), encode_record(decode_sample(store.value(i))))
            except DataError as error:
                raise DataError(f"{store.place(i)}: {error}") from error
        return len(store)
