"""SourceRows: takes the place of an input layer, with rows of a NumPy file or of bytes. No job names it.

``netpart predict`` writes it into the job that it sends to its workers (``layers.INTERNAL``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, final

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.row_source import RowSource
from netpart.data.source_file import SUFFIX, SourceFile, SourceFileRows
from netpart.layers import ARRAY_TOKENS
from netpart.layers.inputs.rows import RowInput
from netpart.spec import INT, Shape, Spec


@final
class SourceRows(RowInput):
    """Output data (batch, *sample), without labels. Rows are the values of the file as they are.

    ``user_type`` distinguishes numbers and tokens. store_conf has the path and, for a file of bytes, the shape.
    """

    confs: ClassVar[tuple[str, ...]] = ("store_conf",)
    field = "store_conf"
    labelled = False

    def infer(self) -> tuple[Spec, ...]:
        (data,) = super().infer()
        return (Spec(data.shape, INT),) if self._holds_tokens else (data,)

    def sample(self) -> Shape:
        return self._file().shape

    def records(self) -> int | None:
        return self._file().count

    def data_files(self) -> Sequence[Path]:
        return (self._file().path,)

    def cuts(self) -> tuple[int | str, ...]:
        return tuple(range(self.output.rank))

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        return SourceFileRows(self._file(), batch)

    @property
    def _holds_tokens(self) -> bool:
        return self.conf.user_type == ARRAY_TOKENS

    def _file(self) -> SourceFile:
        """Open the file. Raises DataError."""
        path = Path(self.conf.store_conf.path)  # absolute: netpart predict has written it
        shape = () if path.suffix == SUFFIX else tuple(self.conf.store_conf.shape)
        return SourceFile(path, shape, self._holds_tokens)
