"""SourceRows: takes the place of an input layer, with rows of a NumPy file or of plain elements. No job names it.

``netpart predict`` writes it into the job that it sends to its workers (``layers.INTERNAL``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.remote.url_path import DataPath, data_path_of, url_settings
from netpart.data.row_source import RowSource
from netpart.data.source_file import BYTE, SUFFIX, SourceFile, SourceFileRows
from netpart.layers import ARRAY_NUMBERS, TOKENS_OF_2, TOKENS_OF_4
from netpart.layers.inputs.rows import RowInput
from netpart.spec import INT, Shape, Spec

ELEMENTS: dict[str, np.dtype[Any]] = {TOKENS_OF_2: np.dtype("<u2"), TOKENS_OF_4: np.dtype("<u4")}
"""user_type -> type of the elements of a file without a header, unless they are bytes."""


@final
class SourceRows(RowInput):
    """Output data (batch, *sample), without labels. Rows are the values of the file as they are.

    ``user_type`` distinguishes numbers, and tokens by their size. store_conf has the path, which is absolute or a URL,
    and the shape for a file without a header.
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

    def data_files(self) -> Sequence[DataPath]:
        return (self._file().path,)

    def cuts(self) -> tuple[int | str, ...]:
        return tuple(range(self.output.rank))

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        return SourceFileRows(self._file(), batch)

    @property
    def _holds_tokens(self) -> bool:
        return self.conf.user_type != ARRAY_NUMBERS

    def _file(self) -> SourceFile:
        """Open the file. Raises DataError."""
        path = data_path_of(self.conf.store_conf.path, url_settings(self.data_cache))  # netpart predict has written it
        shape = () if path.suffix == SUFFIX else tuple(self.conf.store_conf.shape)
        return SourceFile(path, shape, self._holds_tokens, ELEMENTS.get(self.conf.user_type, BYTE))
