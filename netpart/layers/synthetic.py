"""kSyntheticInput: labelled samples drawn from the seed; needs no file."""

from __future__ import annotations

from math import inf
from typing import ClassVar, final

from netpart.data.rows import RowSource
from netpart.data.synthetic import Synthetic
from netpart.layers.checks import at_least, fault
from netpart.layers.rows import RowInput
from netpart.spec import Shape

TRAIN = 1


@final
class SyntheticInput(RowInput):
    """A smooth pattern per class plus noise. Training and test rows differ and share the patterns.

    batchsize and shape are those of store_conf: to try a net without its data, change the type of its input.
    """

    types: ClassVar[tuple[str, ...]] = ("kSyntheticInput",)
    field = "store_conf"

    def sample(self) -> Shape:
        shape = tuple(self.conf.store_conf.shape)
        at_least(self, 1, self.conf.synthetic_conf.classes, "synthetic_conf", "classes")
        if not 0 <= self.conf.synthetic_conf.noise < inf:
            got = f"{self.conf.synthetic_conf.noise:g}"
            raise fault(self, "a noise of 0 or more", got, "write noise: 1", "synthetic_conf", "noise")
        if not shape or min(shape) < 1:
            got = str(shape or "none")
            raise fault(self, "the shape of a sample", got, "write shape: once per axis", self.field, "shape")
        return shape

    def open(self, batch: int, seed: int, phase: int) -> RowSource:
        conf, stream = self.conf.synthetic_conf, 0 if phase == TRAIN else phase
        shape = self.output.shape[1:]
        return Synthetic(shape, conf.classes, batch=batch, seed=seed, noise=conf.noise, stream=stream)
