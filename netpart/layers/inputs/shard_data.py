"""kShardData (deprecated: use kRecordInput): the opaque records of a data shard, for parsers to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from netpart.data.remote.url_path import DataPath
from netpart.data.stores.decode import Decode
from netpart.data.stores.record_store import RecordStore
from netpart.data.stores.rows import RowReader
from netpart.data.stores.store import open_store
from netpart.kernels.op import Op
from netpart.layers.checks import at_least, check_sources, fault
from netpart.layers.inputs.stores import data_path, draw_skip
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Needs
from netpart.spec import RECORD, Region, Spec


@dataclass(frozen=True)
class RecordSpec(Spec):
    """The spec of a batch of opaque records, with the path of their file: the shape of a parser may depend on it."""

    path: DataPath | None = None


@dataclass
class ShardRecords:
    """The rows of the current ``step``, not decoded; parsers decode them."""

    store: RecordStore
    batch: int
    skip: int
    step: int = 0

    def reader(self, decode: Decode) -> RowReader:
        """A reader of the rows, which decodes them with ``decode``."""
        return RowReader(self.store, decode, batch=self.batch, skip=self.skip)


@final
class ShardData(Layer):
    """Output: shape (), with the number of records in Spec.rows. Each worker with a parser reads its own rows."""

    types: ClassVar[tuple[str, ...]] = ("kShardData",)
    confs: ClassVar[tuple[str, ...]] = ("sharddata_conf",)
    is_input: ClassVar[bool] = True

    def infer(self) -> tuple[Spec, ...]:
        check_sources(self)
        if not self.conf.HasField("sharddata_conf"):
            raise fault(self, "a sharddata_conf", "none", "add sharddata_conf { path: ... batchsize: ... }")
        conf = self.conf.sharddata_conf
        self.path = data_path(self, conf.path, "sharddata_conf", "path")
        rows = self.rows_override or at_least(self, 1, conf.batchsize, "sharddata_conf", "batchsize")
        at_least(self, 0, conf.random_skip, "sharddata_conf", "random_skip")
        return (RecordSpec((), RECORD, rows, self.path),)

    def row_sizes(self) -> tuple[int, ...]:
        """Rows of the mini-batch."""
        return (self.conf.sharddata_conf.batchsize,)

    def check_data(self, phase: int = 1) -> None:
        open_store("kvfile", self.path).close()

    def records(self) -> int | None:
        """Rows of one pass over the data. Opens the data."""
        with open_store("kvfile", self.path) as store:
            return len(store)

    def data_files(self) -> tuple[DataPath]:
        """The file of the records."""
        return (self.path,)

    def cuts(self) -> tuple[int | str, ...]:
        return ()

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(())

    def forward(self, kernels: object, call: Call) -> Op:
        skip = draw_skip(self, self.conf.sharddata_conf.random_skip, call.seed)
        records = ShardRecords(open_store("kvfile", self.path), call.rows or self.output.rows, skip)

        def run() -> None:
            records.step = call.clock.step
            call.y[0][0] = records

        # It stores a Python object, which a captured graph of device operations cannot do.
        return Op(run, captured=False)
