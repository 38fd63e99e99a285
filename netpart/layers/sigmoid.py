"""kSigmoid: 1 / (1 + exp(-x))."""

from __future__ import annotations

from typing import ClassVar, final

from netpart.kernels.activation import Kind
from netpart.layers.elementwise import ElementwiseActivation


@final
class Sigmoid(ElementwiseActivation):
    """Logistic function of each element."""

    types: ClassVar[tuple[str, ...]] = ("kSigmoid",)

    def kind(self) -> Kind:
        return "sigmoid"
