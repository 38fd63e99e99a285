"""kCSVInput: lines ``label,v1,v2,...`` of a text file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.decode import csv_decoder
from netpart.data.source import RowSource
from netpart.data.store import open_store
from netpart.layers.rows import RowInput
from netpart.layers.stores import layer_store, store_rows
from netpart.spec import Shape, Spec


@final
class CSVInput(RowInput):
    """Rows are (value - mean) / std in the shape of store_conf, or a vector as long as the first line."""

    types: ClassVar[tuple[str, ...]] = ("kCSVInput",)
    confs: ClassVar[tuple[str, ...]] = ("store_conf",)
    field = "store_conf"

    def infer(self) -> tuple[Spec, ...]:
        self.labelled = self.conf.store_conf.has_label
        return super().infer()

    def sample(self) -> Shape:
        conf = self.conf.store_conf
        if conf.shape:
            return tuple(conf.shape)
        with layer_store(self, "textfile") as store:
            return (len(store.value(0).split(conf.separator.encode())) - self.labelled,)

    def records(self) -> int | None:
        with layer_store(self, "textfile") as store:
            return len(store)

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        decode = csv_decoder(self.output.shape[1:], self.conf.store_conf.separator, self.labelled, dtype)
        return store_rows(self, layer_store(self, "textfile"), decode, self._file, batch, seed)

    def _file(self, path: Path, purpose: str) -> Any:
        decode = csv_decoder(self.output.shape[1:], self.conf.store_conf.separator, has_label=False, dtype=np.float64)
        with open_store("textfile", path) as store:
            return decode(store.value(0))[0]
