"""kReLU: max(x, 0), or negative_slope * x below zero."""

from __future__ import annotations

from typing import ClassVar, final

from netpart.kernels.activation import Kind
from netpart.layers.elementwise import ElementwiseActivation
from netpart.spec import Spec


@final
class ReLU(ElementwiseActivation):
    """Rectified linear units: negative elements are multiplied by negative_slope."""

    types: ClassVar[tuple[str, ...]] = ("kReLU",)
    confs: ClassVar[tuple[str, ...]] = ("relu_conf",)

    def infer(self) -> tuple[Spec, ...]:
        self.slope = self.conf.relu_conf.negative_slope
        return super().infer()

    def kind(self) -> Kind:
        return "relu"
