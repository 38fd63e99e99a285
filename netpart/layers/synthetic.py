"""kSyntheticInput: labelled samples drawn from the seed; needs no file."""

from __future__ import annotations

from typing import ClassVar, final

from netpart.data.rows import RowSource
from netpart.data.synthetic import Synthetic
from netpart.layers.checks import at_least, fault
from netpart.layers.rows import RowInput
from netpart.spec import Shape, Spec

TRAIN = 1


@final
class SyntheticInput(RowInput):
    """A smooth pattern per class plus noise. Training and test rows differ and share the patterns.

    batchsize and shape are those of synthetic_conf or, if it has no batchsize, of the store_conf of the
    data that the samples stand in for.
    """

    types: ClassVar[tuple[str, ...]] = ("kSyntheticInput",)

    def infer(self) -> tuple[Spec, ...]:
        stands_in = self.conf.HasField("store_conf") and not self.conf.synthetic_conf.batchsize
        self.field = "store_conf" if stands_in else "synthetic_conf"
        return super().infer()

    def sample(self) -> Shape:
        shape = tuple(getattr(self.conf, self.field).shape)
        at_least(self, 1, self.conf.synthetic_conf.classes, "synthetic_conf", "classes")
        if not shape or min(shape) < 1:
            got = str(shape or "none")
            raise fault(self, "the shape of a sample", got, "write shape: once per axis", self.field, "shape")
        return shape

    def open(self, batch: int, seed: int, phase: int) -> RowSource:
        conf, stream = self.conf.synthetic_conf, 0 if phase == TRAIN else phase
        shape = self.output.shape[1:]
        return Synthetic(shape, conf.classes, batch=batch, seed=seed, noise=conf.noise, stream=stream)
