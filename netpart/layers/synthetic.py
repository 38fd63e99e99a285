"""kSyntheticInput: labelled samples drawn from the seed; needs no file."""

from __future__ import annotations

from typing import ClassVar, final

from netpart.data.rows import RowSource
from netpart.data.synthetic import Synthetic
from netpart.layers.checks import at_least, fault
from netpart.layers.rows import RowInput
from netpart.spec import Shape

TRAIN = 1


@final
class SyntheticInput(RowInput):
    """A smooth pattern per class plus noise. Training and test rows differ and share the patterns."""

    types: ClassVar[tuple[str, ...]] = ("kSyntheticInput",)
    field: ClassVar[str] = "store_conf"

    def sample(self) -> Shape:
        conf = self.conf.store_conf
        at_least(self, 1, self.conf.synthetic_conf.classes, "synthetic_conf", "classes")
        if not conf.shape or min(conf.shape) < 1:
            got = str(tuple(conf.shape)) if conf.shape else "none"
            raise fault(self, "the shape of a sample", got, "write shape: once per axis", "store_conf", "shape")
        return tuple(conf.shape)

    def open(self, batch: int, seed: int, phase: int) -> RowSource:
        conf, stream = self.conf.synthetic_conf, 0 if phase == TRAIN else phase
        shape = tuple(self.conf.store_conf.shape)
        return Synthetic(shape, conf.classes, batch=batch, seed=seed, noise=conf.noise, stream=stream)
