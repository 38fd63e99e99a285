"""kLMDBData: images of an LMDB store, as Caffe and SINGA write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.remote.url_path import DataPath
from netpart.data.row_source import RowSource
from netpart.data.stores.datum import decode_sample
from netpart.data.stores.decode import record_decoder, record_shape
from netpart.data.stores.record_store import RecordStore
from netpart.data.stores.rows import RowReader
from netpart.data.stores.store import open_store
from netpart.layers.checks import at_least
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.stores import data_path, draw_skip, store_files
from netpart.spec import Shape


@final
class LmdbData(RowInput):
    """Outputs data (batch, channels, height, width), in the shape of the first record, and label (batch,).

    A record is a Datum of Caffe's, or a record of SINGA's. kRecordInput with `backend: "lmdb"` reads the same records,
    and can shuffle and scale them.
    """

    types: ClassVar[tuple[str, ...]] = ("kLMDBData",)
    confs: ClassVar[tuple[str, ...]] = ("lmdbdata_conf",)
    field = "lmdbdata_conf"

    def row_sizes(self) -> tuple[int, ...]:
        return (self.conf.lmdbdata_conf.batchsize,)

    def sample(self) -> Shape:
        at_least(self, 0, self.conf.lmdbdata_conf.random_skip, self.field, "random_skip")
        with self.store() as store:
            return record_shape(store, decode_sample)

    def store(self) -> RecordStore:
        """Open the store. Raises DataError if it cannot be read."""
        return open_store("lmdb", data_path(self, self.conf.lmdbdata_conf.path, self.field, "path"))

    def records(self) -> int | None:
        with self.store() as store:
            return len(store)

    def data_files(self) -> Sequence[DataPath]:
        return store_files(self, self.field)

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        decode = record_decoder(self.output.shape[1:], decode_sample)
        skip = draw_skip(self, self.conf.lmdbdata_conf.random_skip, seed)
        return RowReader(self.store(), decode, batch=batch, skip=skip)
