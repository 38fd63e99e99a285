"""Base class of parsers of opaque records: rows of the batch, decoded on the worker that needs them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import DTypeLike

from netpart.data.stores.decode import Decode
from netpart.data.stores.rows import RowReader
from netpart.kernels.op import Array, Op
from netpart.layers.checks import check_sources, fault
from netpart.layers.inputs.shard_data import RecordSpec
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Needs
from netpart.spec import Region

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

ReadRows = Callable[[RowReader, int, int, int, Any], None]
"""(reader, step, first row, last row, array to fill)."""


class RecordParser(Layer):
    """Reader of a kShardData layer. A subclass decodes one value and chooses its output: elements or label."""

    @abstractmethod
    def decoder(self, dtype: DTypeLike) -> Decode:
        """The function from the bytes of a record to (elements, label); ``dtype`` is the compute dtype."""

    def read(self, reader: RowReader, step: int, lo: int, hi: int, out: Any) -> None:
        """Fill ``out`` with rows ``lo`` to ``hi`` of the mini-batch of ``step``."""
        reader.read(step, lo, hi, out, None)

    def reading(self, call: Call, dtype: DTypeLike) -> ReadRows:
        """The function that reads the rows of a call, by default ``read``."""
        return self.read

    def records(self) -> RecordSpec:
        """The spec of the source; raises ConfigError if it holds no records."""
        (spec,) = check_sources(self, "the kShardData layer")
        if not isinstance(spec, RecordSpec):
            raise fault(self, "records of a kShardData layer", f"{spec.dtype} {spec.shape}", "", "srclayers", 0)
        return spec

    def cuts(self) -> tuple[int | str, ...]:
        return (0,)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(((),))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        lo, hi = (call.first_row + end for end in call.region[0])
        readers = dict[int, RowReader]()
        read = self.reading(call, kernels.dtype)

        def fill(out: Array) -> None:
            records = call.x[0][0]
            # The source puts its records into the array in each step. The reader is kept with its cache as long as it
            # is the same object.
            if id(records) not in readers:
                readers[id(records)] = records.reader(self.decoder(kernels.dtype))
            read(readers[id(records)], records.step, lo, hi, out)

        return kernels.feed(call.y[:1], fill)
