"""InputPlaceholder: takes the place of an input layer, with values of the caller. A job cannot contain it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from netpart.kernels.op import Array, Op
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Needs
from netpart.spec import Region, Spec

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class InputPlaceholder(Layer):
    """Input with the outputs of ``layer``, uncut. Each step first reads ``values``, one host array per output.

    The arrays exist as soon as the layer is bound; they are filled with 0.
    """

    is_input: ClassVar[bool] = True

    def __init__(self, layer: Layer) -> None:
        self.like = layer
        self.values = list[Array]()
        super().__init__(layer.conf, ())

    def infer(self) -> tuple[Spec, ...]:
        return self.like.outputs

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(())

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return self.like.outputs_of(region)

    def forward(self, kernels: Kernels, call: Call) -> Op:
        self.values = [np.zeros(y.shape, y.dtype) for y in call.y]
        return kernels.feed(call.y, self.feed_values)

    def feed_values(self, *outputs: Array) -> None:
        """Copy the current values to ``outputs``."""
        for output, value in zip(outputs, self.values, strict=True):
            output[...] = value
