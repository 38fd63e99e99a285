"""kSyntheticMasks: noisy images with the class of every pixel or voxel; needs no file."""

from __future__ import annotations

from math import prod
from typing import ClassVar, final

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.repeated_rows import repeat_batches
from netpart.data.row_source import RowSource
from netpart.data.synthetic_masks import SyntheticMaskRows as Rows
from netpart.layers.checks import fault
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.synthetic import check_synthetic_conf, phase_stream
from netpart.spec import INT, Region, Shape, Spec


@final
class SyntheticMasks(RowInput):
    """Outputs data (batch, channels, ...) and label (batch, places), int. store_conf.shape is (channels, ...)."""

    types: ClassVar[tuple[str, ...]] = ("kSyntheticMasks",)
    confs: ClassVar[tuple[str, ...]] = ("store_conf", "synthetic_conf")
    field = "store_conf"

    def infer(self) -> tuple[Spec, ...]:
        data, _ = super().infer()
        return data, Spec((data.shape[0], prod(data.shape[2:])), INT)

    def sample(self) -> Shape:
        shape = check_synthetic_conf(self)
        if len(shape) < 2:
            raise fault(
                self, "channels and spatial axes", str(shape), "write shape: once per axis", "store_conf", "shape"
            )
        return shape

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return region, (region[0], *self.outputs[1].whole[1:])

    def data_files(self) -> tuple[()]:
        return ()

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        conf = self.conf.synthetic_conf
        shape = self.output.shape[1:]
        rows = Rows(shape, conf.classes, batch=batch, seed=seed, noise=conf.noise, stream=phase_stream(phase))
        return repeat_batches(rows, conf.batches)
