"""kSTanh: the scaled hyperbolic tangent 1.7159047 * tanh(0.66666667 * x)."""

from __future__ import annotations

from typing import ClassVar, final

from netpart.kernels.activation import Kind
from netpart.layers.elementwise import ElementwiseActivation


@final
class STanh(ElementwiseActivation):
    """Scaled tanh units (LeCun et al., Efficient BackProp, 1998, section 4.4)."""

    types: ClassVar[tuple[str, ...]] = ("kSTanh",)

    def kind(self) -> Kind:
        return "stanh"
