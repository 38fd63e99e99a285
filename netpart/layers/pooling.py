"""Pooling over one to three spatial axes: the maximum or the mean of each window.

Example on one axis, with ceil_mode, kernel 3, stride 2, pad 1 and 6 inputs: the divisors of the means.

    padded   .  0  1  2  3  4  5  .         with the border    without it
    output 0 [-----]                        3                  2
    output 1       [-----]                  3                  3
    output 2             [-----]            3                  3
    output 3                   [-----       2                  1
"""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from netpart.kernels import flops
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.pooling import Method, winner_dtype
from netpart.layers.checks import one_source
from netpart.layers.layer import Layer, MemoryOrder
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.layers.windows import empty_input, read_fitting_windows
from netpart.spec import Region, Shape, Spec, extent, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Pooling(Layer):
    """Input (batch, [channels,] spatial...). The output has the same axes; extents are rounded down, as in SINGA, or
    with ``ceil_mode`` up, as in PyTorch.

    A mean divides by the elements of the window that lie in the padded input, and by those in the input alone with
    count_include_pad: false. If extents are rounded down, every window lies in the padded input.
    """

    types: ClassVar[tuple[str, ...]] = ("kPooling", "kCPooling", "kCudnnPool")
    narrow_verbs: ClassVar[tuple[str, ...]] = ("pooling",)
    confs: ClassVar[tuple[str, ...]] = ("pooling_conf",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST
    rereads = ""

    def infer(self) -> tuple[Spec, ...]:
        from netpart.proto.neuron_pb2 import PoolingProto

        source = one_source(self)
        self.sliding = read_fitting_windows(self, "pooling_conf", source)
        self.method: Method = "MAX" if self.conf.pooling_conf.pool == PoolingProto.MAX else "AVG"
        self.axes = len(self.sliding.kernel)
        self.counts_padding = self.conf.pooling_conf.count_include_pad
        return (Spec((*source.shape[: -self.axes], *self.sliding.outputs)),)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        box = (*region[: -self.axes], *self.sliding.reads(region[-self.axes :]))
        return Needs((box if all(lo < hi for lo, hi in box) else None,))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        price = flops.pooling_flops(size(region), self.sliding.kernel)
        return Cost(price, (price if self.needs(region).inputs[0] else 0,))

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        return ((extent(region), winner_dtype(self.sliding.kernel)),) if self.method == "MAX" else ()

    def forward(self, kernels: Kernels, call: Call) -> Op:
        ranges = call.region[-self.axes :]
        window = self.sliding.window(ranges)
        arg = call.aux[0] if call.aux else None
        x = call.x[0]
        # A part whose windows all lie in padding has no input, but its outputs must still be written.
        if call.needs.inputs[0] is None:
            x = empty_input(kernels, *call.y[0].shape[: -self.axes], *extent(self.sliding.reads(ranges)))
        return kernels.pooling(x, call.y[0], arg, window, self.method, self._area(ranges))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        ranges = call.region[-self.axes :]
        if dx is None:
            return chain_ops()
        arg = call.aux[0] if call.aux else None
        window = self.sliding.window(ranges)
        return kernels.pooling_gradient(call.dy[0], dx, arg, window, self.method, self._area(ranges))

    def _area(self, ranges: Region) -> int | Array:
        """The divisors of the windows ``ranges``: one number, or an array if they differ. Unused for a maximum."""
        counts = [self._counts(axis, *span) for axis, span in enumerate(ranges)]
        # All divisors of most nets are equal, and kernels are faster with one number.
        if self.method == "MAX" or all({k} >= {*line} for k, line in zip(self.sliding.kernel, counts, strict=True)):
            return prod(self.sliding.kernel)
        return reduce(np.multiply.outer, [np.array(line, np.int64) for line in counts])

    def _counts(self, axis: int, lo: int, hi: int) -> list[int]:
        """For each window [lo, hi) of one axis, the number of its elements that a mean counts."""
        sliding = self.sliding
        low, high = (sliding.pad[axis], sliding.ends[axis]) if self.counts_padding else (0, 0)
        starts = (i * sliding.stride[axis] - sliding.pad[axis] for i in range(lo, hi))
        stop = sliding.extent[axis] + high
        return [max(0, min(start + sliding.kernel[axis], stop) - max(start, -low)) for start in starts]
