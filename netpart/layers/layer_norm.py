"""kLayerNorm and kRMSNorm: normalisation of every row of features by its mean and variance, or by its mean square."""

from __future__ import annotations

from math import prod
from typing import ClassVar, final

from netpart.layers.checks import fault, one_source
from netpart.layers.normalisation import Normalisation
from netpart.spec import Region, Spec, extent


@final
class LayerNorm(Normalisation):
    """Normalisation over the axes from norm_conf.axis on; can be cut on the axes before it.

    Ba, Kiros and Hinton, Layer Normalization, 2016; Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.
    """

    types: ClassVar[tuple[str, ...]] = ("kLayerNorm", "kRMSNorm")
    gradient_verb: ClassVar[str] = "normalise_gradient"
    confs: ClassVar[tuple[str, ...]] = ("norm_conf",)

    def infer(self) -> tuple[Spec, ...]:
        from netpart.proto.job_pb2 import LayerType

        source = one_source(self)
        axis = self.conf.norm_conf.axis
        first = axis + source.rank if axis < 0 else axis
        if not 0 < first < source.rank:
            hint = "axis 0 is the batch; -1 is the last axis"
            raise fault(self, f"an axis from 1 to {source.rank - 1}", str(axis), hint, "norm_conf", "axis")
        self.axes = range(first, source.rank)
        self.centred = self.conf.type == LayerType.kLayerNorm
        return (source,)

    def cuts(self) -> tuple[int | str, ...]:
        return tuple(range(self.axes.start))

    def touched(self, region: Region) -> Region:
        return region

    def blocks(self, region: Region) -> int:
        return prod(extent(region)[: self.axes.start])
