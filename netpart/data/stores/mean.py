"""Mean and standard-deviation files: one record whose floats are subtracted from, or divide, every row."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.remote.url_path import DataPath
from netpart.data.stores.record import Record, decode_record, encode_record
from netpart.data.stores.store import KvWriter, open_store
from netpart.errors import DataError
from netpart.spec import Shape


def read_mean(path: DataPath, shape: Shape, backend: str = "kvfile") -> NDArray[np.float32]:
    """Read a mean file as float32 of ``shape``. Raises DataError if its first record does not fit."""
    with open_store(backend, path) as store:
        try:
            values = decode_record(store.value(0)).values
        except DataError as error:
            raise DataError(f"{store.place(0)}: {error}") from error
    if values.size != prod(shape) or not np.isfinite(values).all():
        wanted = f"{prod(shape)} finite floats for shape {shape}"
        raise DataError(f"{path}: expected {wanted}, got {values.size} elements; compute it anew from this data set")
    return values.astype(np.float32).reshape(shape)


def read_std(path: DataPath, shape: Shape, backend: str = "kvfile") -> NDArray[np.float32]:
    """Read a standard-deviation file as float32 of ``shape``. Raises DataError if an element is not positive."""
    values = read_mean(path, shape, backend)
    if not (values > 0).all():
        raise DataError(f"{path}: expected positive standard deviations, got {values.min()}; omit constant elements")
    return values


def write_mean(path: Path, values: NDArray[Any]) -> None:
    """Write a mean or standard-deviation file: a kvfile of one record with key ``mean``."""
    with KvWriter(path) as writer:
        writer.put(b"mean", encode_record(Record.from_array(values.astype(np.float32))))
