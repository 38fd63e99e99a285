"""Pooling over one to three spatial axes: the maximum or the mean of each window."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
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
    """Input (batch, [channels,] spatial...). The output has the same axes; extents are rounded down, as in SINGA.

    A mean divides by the size of the whole window. kCPooling first clips the window to the padded input, as Caffe does.
    Here that has no effect: as extents are rounded down, every window lies inside the padded input.
    """

    types: ClassVar[tuple[str, ...]] = ("kPooling", "kCPooling", "kCudnnPool")
    confs: ClassVar[tuple[str, ...]] = ("pooling_conf",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST
    rereads = ""

    def infer(self) -> tuple[Spec, ...]:
        from netpart.proto.neuron_pb2 import PoolingProto

        source = one_source(self)
        self.sliding = read_fitting_windows(self, "pooling_conf", source)
        self.method: Method = "MAX" if self.conf.pooling_conf.pool == PoolingProto.MAX else "AVG"
        self.axes = len(self.sliding.kernel)
        self.area = prod(self.sliding.kernel)
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
        return kernels.pooling(x, call.y[0], arg, window, self.method, self.area)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        window = self.sliding.window(call.region[-self.axes :])
        if dx is None:
            return chain_ops()
        arg = call.aux[0] if call.aux else None
        return kernels.pooling_gradient(call.dy[0], dx, arg, window, self.method, self.area)
