"""Convolution over one to three spatial axes: every output channel sees all input channels under its window."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels.op import Array, Op, chain
from netpart.layers.checks import at_least, has_conf, one_source
from netpart.layers.layer import INPUT, Call, Cost, Layer, Needs, ParamSpec
from netpart.layers.weights import bias, bias_need, product_cost, wanted, weight_and_bias
from netpart.layers.windows import channels, nothing, sliding, with_channels
from netpart.spec import Region, Shape, Spec, extent, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Convolution(Layer):
    """y[b, f] = sum over c of x[b, c] * w[f, c] + bias[f]; input (batch, [channels,] spatial...)."""

    types: ClassVar[tuple[str, ...]] = ("kConvolution", "kCConvolution", "kCudnnConv")

    def infer(self) -> tuple[Spec, ...]:
        source, conf = one_source(self), self.conf.convolution_conf
        has_conf(self, "convolution_conf", "num_filters: 32 kernel: 3")
        self.filters = at_least(self, 1, conf.num_filters, "convolution_conf", "num_filters")
        self.sliding = sliding(self, "convolution_conf", source)
        self.channels = channels(source, self.sliding)
        return (Spec((source.shape[0], self.filters, *self.sliding.outputs)),)

    def parameters(self) -> tuple[ParamSpec, ...]:
        kernel = self.sliding.kernel
        matrix = self.filters, self.channels * prod(kernel)
        return weight_and_bias(self, (self.filters, self.channels, *kernel), matrix, matrix)

    def cuts(self) -> tuple[int | str, ...]:
        return (*range(self.output.rank), INPUT)

    def contraction(self) -> Shape | None:
        return (self.channels,)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        seen = term or ((0, self.channels),)
        ranges = self.sliding.reads(region[2:])
        empty = any(lo == hi for lo, hi in ranges)
        middle = seen if self.inputs[0].rank == self.output.rank else ()
        weight = (region[1], *seen, *((0, k) for k in self.sliding.kernel))
        return Needs((None if empty else (region[0], *middle, *ranges),), (weight, *bias_need(self, region[1], term)))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        needs = self.needs(region, term)
        return product_cost(needs, size(region), size(term or ((0, self.channels),)) * prod(self.sliding.kernel))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        window = self.sliding.window(call.region[2:])
        return kernels.convolution(self._input(kernels, call), call.w[0], bias(call, call.w), call.y[0], window)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        window, ops = self.sliding.window(call.region[2:]), []
        dx, dw, dy = wanted(call.dx, 0), wanted(call.dw, 0), call.dy[0]
        if dx is not None:
            ops.append(kernels.convolution_data(dy, call.w[0], with_channels(dx, self.sliding), window))
        if dw is not None:
            ops.append(kernels.convolution_weights(self._input(kernels, call), dy, dw, bias(call, call.dw), window))
        return chain(*ops)

    def _input(self, kernels: Kernels, call: Call) -> Array:
        if call.needs.inputs[0] is not None:
            return with_channels(call.x[0], self.sliding)
        ranges = self.sliding.reads(call.region[2:])
        return nothing(kernels, len(call.y[0]), call.w[0].shape[1], *extent(ranges))
