"""LMDB stores, such as those of Caffe: records in the order of their keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netpart.data.byte_source import ByteSource
from netpart.data.remote.url_path import DataPath
from netpart.data.signatures import HEAD, guess_file_kind
from netpart.data.stores.lmdb_pages import LmdbPages, read_lmdb_meta
from netpart.data.stores.record_store import HINT, RecordStore
from netpart.errors import DataError

DATA = "data.mdb"


class LmdbStore(RecordStore):
    """An LMDB for reading; ``path`` is its folder, or the file. Nobody may write it meanwhile."""

    def __init__(self, path: DataPath) -> None:
        super().__init__(path / DATA if path.is_dir() else path)

    def _scan(self, file: ByteSource) -> NDArray[np.int64]:
        meta = read_lmdb_meta(file)
        if meta is None:
            kind, use = guess_file_kind(file.read(0, min(HEAD, file.size)))
            raise DataError(f"{self.path}: expected an LMDB store, got {kind or 'another file'}; {use or HINT}")
        # One scan of the pages, not of the values: large values are in pages of their own, which are not read here.
        spans = np.array(list(LmdbPages(file, meta).spans()), np.int64).reshape(-1, 4)
        if not len(spans):
            raise DataError(f"{self.path}: expected at least one record, got none; {HINT}")
        return spans
