"""RecordStore: records of one file by number, read through an index of their byte ranges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from netpart.data.byte_source import ByteSource
from netpart.data.open_bytes import open_data_file
from netpart.data.remote.url_path import DataPath
from netpart.errors import DataError

HINT = "correct the path (--set LAYER.store_conf.path=FILE, say), or see `netpart data --help`"


class RecordStore(ABC):
    """Keys and values by record number. The index is built by one scan when the store is opened.

    Raises DataError if the file is missing, not a regular file, empty or malformed, or if it is truncated later.
    """

    def __init__(self, path: DataPath) -> None:
        self.path, self._skipped = path, 0
        self._file = open_data_file(path, "a data file", "at least one record", HINT)
        try:
            self._spans = self._scan(self._file)
        except DataError:
            self._file.close()
            raise

    @abstractmethod
    def _scan(self, file: ByteSource) -> NDArray[np.int64]:
        """Half-open byte ranges of key and value of every record: (records, 4)."""

    def __len__(self) -> int:
        return len(self._spans)

    def key(self, record: int) -> bytes:
        """The key of record number ``record``, counted from 0."""
        start, stop, _, _ = self._spans[record].tolist()
        return self._file.read(start, stop)

    def value(self, record: int) -> bytes:
        """The value of record number ``record``, counted from 0."""
        _, _, start, stop = self._spans[record].tolist()
        return self._file.read(start, stop)

    def skip(self, records: int) -> None:
        """Omit the first ``records`` records: the next one gets number 0. Raises DataError if none is left."""
        if len(self._spans) <= records:
            raise DataError(f"{self.path}: expected at least one record, got none; {HINT}")
        self._spans = self._spans[records:]
        self._skipped += records

    def place(self, record: int) -> str:
        """The name of a record in errors: the file and the record's number in it, counted from 0."""
        return f"{self.path}: record {self._skipped + record}"

    def close(self) -> None:
        """Close the file; after that the store cannot be read."""
        self._file.close()

    def __enter__(self) -> RecordStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path}, {len(self)} records)"
