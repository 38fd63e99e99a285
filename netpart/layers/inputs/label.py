"""kLabel (deprecated: kRecordInput has a label output): the labels of a kShardData layer."""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from netpart.data.stores.decode import Decode
from netpart.data.stores.record import decode_record
from netpart.data.stores.rows import RowReader
from netpart.layers.inputs.parser import RecordParser
from netpart.spec import INT, Spec


@final
class Label(RecordParser):
    """Output (batch,) int32."""

    types: ClassVar[tuple[str, ...]] = ("kLabel",)
    output_names: tuple[str, ...] = ("label",)

    def infer(self) -> tuple[Spec, ...]:
        return (Spec((self.records().rows,), INT),)

    def decoder(self, dtype: DTypeLike) -> Decode:
        def decode(value: bytes) -> tuple[NDArray[Any], int | None]:
            return np.empty(0, np.uint8), decode_record(value).label

        return decode

    def read(self, reader: RowReader, step: int, lo: int, hi: int, out: Any) -> None:
        reader.read(step, lo, hi, None, out)
