"""Convolutions as matrix products with columns, where cuDNN is missing or has no engine.

    x (places of x, C) ──gather──▶ columns (groups, places of y, taps · C)      y = columns wᵀ      dw = dyᵀ columns
    dx                 ◀─scatter──                                              columns = dy w

All tensors are packed, channels last. Some images are done at a time, so that the columns never take more than
``LIMIT`` bytes (or those of one image). Chellapilla et al., High Performance Convolutional Neural Networks for Document
Processing, 2006, section 3.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from netpart.kernels.cuda.geometry import ConvolutionGeometry
from netpart.kernels.cuda.launch import Launchable, LaunchScratch
from netpart.kernels.cuda.operand import Operand
from netpart.kernels.cuda.products import ProductVerbs
from netpart.kernels.op import Array

LIMIT = 256 << 20
"""The most bytes of columns."""
TAPS = np.dtype(
    [("first", "i8"), ("images", "i8"), ("groups", "i8"), ("channels", "i8")]
    + [(name, "i8", 3) for name in ("in", "out", "kernel", "stride", "dilation", "low")]
)
"""struct Taps of convolution.cu."""
Tensor = Array | LaunchScratch


class ImageRange(NamedTuple):
    """``number`` images from ``first`` on."""

    first: int
    number: int


class LoweredEngine:
    """The engine of one convolution, bound by ``kernels``. Tensors may have any shapes of the right size."""

    narrow = fused = False

    def __init__(self, kernels: ProductVerbs, geometry: ConvolutionGeometry) -> None:
        self.kernels = kernels
        self.geometry = geometry
        (batch, channels) = geometry.x[:2]
        self.filters = geometry.w[0]
        self.groups = geometry.groups
        self.channels = channels // geometry.groups
        self.depth = geometry.taps * self.channels
        self.places = prod(geometry.y[2:])
        image = self.groups * self.places * self.depth * kernels.dtype.itemsize
        images = batch if geometry.trivial else max(1, min(batch, LIMIT // max(1, image)))
        self.chunks = [ImageRange(i, min(images, batch - i)) for i in range(0, batch, images)]
        self.columns = LaunchScratch((images * image // kernels.dtype.itemsize,), kernels.dtype)

    def forward(self, x: Tensor, w: Tensor, b: Array | None, y: Tensor) -> list[Launchable | None]:
        """y = x * w, without the bias, which the caller adds."""
        made: list[Launchable | None] = []
        for images in self.chunks:
            columns, gather = self._gathered(x, images)
            made += [gather, *self._product(columns, self._weights(w).turned, self._outputs(y, images))]
        return made

    def data(self, dy: Tensor, w: Tensor, dx: Tensor) -> list[Launchable | None]:
        """dx = the columns dy w, added up where they overlap."""
        made: list[Launchable | None] = []
        for images in self.chunks:
            columns = self._columns(dx, images)
            made += self._product(self._outputs(dy, images), self._weights(w), columns)
            made.append(None if self.geometry.trivial else self._moved("scatter", dx, self.columns, images, dx))
        return made

    def weights(self, x: Tensor, dy: Tensor, dw: Tensor) -> list[Launchable | None]:
        """dw = dyᵀ columns."""
        made: list[Launchable | None] = []
        for images in self.chunks:
            columns, gather = self._gathered(x, images)
            outputs = self._outputs(dy, images).turned
            add = images.first > 0  # the first chunk overwrites
            made += [gather, *self._product(outputs, columns, self._weights(dw), add)]
        return made

    def _product(self, a: Operand, b: Operand, y: Operand, add: bool = False) -> list[Launchable | None]:
        return list(self.kernels.device.blas.product(a, b, y, add=add))

    def _gathered(self, x: Tensor, images: ImageRange) -> tuple[Operand, Launchable | None]:
        """The columns, and the launch that fills them; None if x itself are the columns."""
        filled = None if self.geometry.trivial else self._moved("gather", self.columns, x, images, self.columns)
        return self._columns(x, images), filled

    def _columns(self, x: Tensor, images: ImageRange) -> Operand:
        """The columns (groups, places, taps · channels of a group); for trivial windows, x itself."""
        places = images.number * self.places
        if self.geometry.trivial:
            return self._grouped(x, images, self.channels)
        shape = self.groups, places, self.depth
        return Operand.of(self.columns).seen(shape, (places * self.depth, self.depth, 1))

    def _outputs(self, y: Tensor, images: ImageRange) -> Operand:
        """The outputs (groups, places, filters of a group)."""
        return self._grouped(y, images, self.filters // self.groups)

    def _grouped(self, tensor: Tensor, images: ImageRange, share: int) -> Operand:
        row = self.groups * share
        shape = (self.groups, images.number * self.places, share)
        steps = (share, row, 1)
        return Operand.of(tensor).seen(shape, steps, images.first * self.places * row)

    def _weights(self, w: Tensor) -> Operand:
        """The weights (groups, filters of a group, taps · channels of a group)."""
        share = self.filters // self.groups
        return Operand.of(w).seen((self.groups, share, self.depth), (share * self.depth, self.depth, 1))

    def _moved(self, name: str, to: Tensor, source: Tensor, images: ImageRange, most: Tensor) -> Launchable | None:
        geometry = self.geometry
        taps = np.zeros((), TAPS)
        taps["first"], taps["images"], taps["groups"], taps["channels"] = *images, self.groups, self.channels
        taps["in"] = geometry.x[2:]
        taps["out"] = geometry.y[2:]
        taps["kernel"] = geometry.w[2:]
        taps["stride"] = geometry.stride
        taps["dilation"] = geometry.dilation
        taps["low"] = geometry.pad
        return self.kernels.bound("convolution.cu", name, prod(most.shape), to, source, taps)
