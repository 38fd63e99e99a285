"""kSyntheticInput: labelled samples drawn from the seed; needs no file."""

from __future__ import annotations

from math import inf
from typing import ClassVar, final

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.repeated_rows import repeat_batches
from netpart.data.row_source import RowSource
from netpart.data.synthetic import SyntheticRows, pattern_bytes
from netpart.layers.checks import at_least, fault
from netpart.layers.inputs.rows import RowInput
from netpart.layers.layer import Layer
from netpart.spec import Region, Shape

TRAIN = 1


@final
class SyntheticInput(RowInput):
    """Rows are a smooth pattern per class plus noise. Training and test rows differ but share the patterns.

    batchsize and shape are those of store_conf. So a net can be tried without its data: change the type of its input.
    """

    types: ClassVar[tuple[str, ...]] = ("kSyntheticInput",)
    confs: ClassVar[tuple[str, ...]] = ("store_conf", "synthetic_conf")
    field = "store_conf"

    def sample(self) -> Shape:
        return check_synthetic_conf(self)

    def data_files(self) -> tuple[()]:
        return ()

    def kept_bytes(self, region: Region) -> int:
        conf = self.conf.synthetic_conf
        (first, last), shape = region[0], self.output.shape[1:]
        drawn = conf.batches * (last - first) or conf.classes
        return super().kept_bytes(region) + pattern_bytes(shape, min(drawn, conf.classes))

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        conf = self.conf.synthetic_conf
        shape = self.output.shape[1:]
        rows = SyntheticRows(shape, conf.classes, batch=batch, seed=seed, noise=conf.noise, stream=phase_stream(phase))
        return repeat_batches(rows, conf.batches)


def check_synthetic_conf(layer: Layer) -> Shape:
    """Return the shape of a row of ``layer``; raise ConfigError unless it and synthetic_conf are valid."""
    shape = tuple(layer.conf.store_conf.shape)
    at_least(layer, 1, layer.conf.synthetic_conf.classes, "synthetic_conf", "classes")
    at_least(layer, 0, layer.conf.synthetic_conf.batches, "synthetic_conf", "batches")
    if not 0 <= layer.conf.synthetic_conf.noise < inf:
        got = f"{layer.conf.synthetic_conf.noise:g}"
        raise fault(layer, "a noise of 0 or more", got, "write noise: 1", "synthetic_conf", "noise")
    if not shape or min(shape) < 1:
        got = str(shape or "none")
        raise fault(layer, "the shape of a sample", got, "write shape: once per axis", "store_conf", "shape")
    return shape


def phase_stream(phase: int) -> int:
    """The number of the stream that draws the rows of a phase: 0 for training."""
    return 0 if phase == TRAIN else phase
