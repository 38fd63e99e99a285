"""kRecordInput: RecordProto records of a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.remote.url_path import DataPath
from netpart.data.row_source import RowSource
from netpart.data.stores.datum import decode_sample
from netpart.data.stores.decode import ReadRecord, record_decoder, record_shape
from netpart.data.stores.mean import read_mean, read_std
from netpart.data.stores.record import decode_record
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.stores import open_layer_store, open_store_rows, store_files
from netpart.spec import Shape


@final
class RecordInput(RowInput):
    """Rows are (element - mean) / std in the shape of store_conf, or of the first record."""

    types: ClassVar[tuple[str, ...]] = ("kRecordInput",)
    confs: ClassVar[tuple[str, ...]] = ("store_conf",)
    field = "store_conf"

    def sample(self) -> Shape:
        if self.conf.store_conf.shape:
            return tuple(self.conf.store_conf.shape)
        with open_layer_store(self, "kvfile") as store:
            return record_shape(store, self._reader())

    def records(self) -> int | None:
        with open_layer_store(self, "kvfile") as store:
            return len(store)

    def data_files(self) -> Sequence[DataPath]:
        return store_files(self, "store_conf")

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        store = open_layer_store(self, "kvfile")
        return open_store_rows(
            self, store, record_decoder(self.output.shape[1:], self._reader()), self._file, batch, seed
        )

    def _reader(self) -> ReadRecord:
        """The reader of a record: an LMDB may have those of Caffe."""
        return decode_sample if self.conf.store_conf.backend == "lmdb" else decode_record

    def _file(self, path: DataPath, purpose: str) -> Any:
        read = read_std if purpose == "std" else read_mean
        backend = self.conf.store_conf.backend or "kvfile"
        # The file of a mean beside an LMDB is a kvfile: netpart writes no LMDB.
        return read(path, self.output.shape[1:], "kvfile" if backend == "lmdb" else backend)
