"""kSyntheticTokens: sequences of tokens, and the token after each; needs no file."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.repeated_rows import repeat_batches
from netpart.data.row_source import RowSource
from netpart.data.synthetic_tokens import SyntheticTokenRows as Rows
from netpart.layers.checks import fault
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.synthetic import check_synthetic_conf, phase_stream
from netpart.spec import INT, Region, Shape, Spec


@final
class SyntheticTokens(RowInput):
    """Outputs data and label (batch, positions), int, below ``classes``. store_conf.shape is (positions,)."""

    types: ClassVar[tuple[str, ...]] = ("kSyntheticTokens",)
    confs: ClassVar[tuple[str, ...]] = ("store_conf", "synthetic_conf")
    field = "store_conf"
    reads_tokens: ClassVar[bool] = True

    def infer(self) -> tuple[Spec, ...]:
        data, _ = super().infer()
        return Spec(data.shape, INT), Spec(data.shape, INT)

    def sample(self) -> Shape:
        shape = check_synthetic_conf(self)
        if len(shape) != 1:
            raise fault(self, "a number of positions", str(shape), "write shape: once", "store_conf", "shape")
        return shape

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return region, region

    def data_files(self) -> tuple[()]:
        return ()

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        conf = self.conf.synthetic_conf
        window = self.output.shape[1]
        rows = Rows(window, conf.classes, batch=batch, seed=seed, noise=conf.noise, stream=phase_stream(phase))
        return repeat_batches(rows, conf.batches)
