"""Convolution over one to three spatial axes: every output channel sees the input channels of its group.

Example: groups of 3 filters over groups of 2 channels. The part that computes filters 2 to 7 makes three kernel calls:

    filters     0  1 [2| 3  4  5| 6  7] 8
    channels    0     1| 2     3| 4     5       all six are needed
    calls            .  -------  ----           one for each partial group, one for the whole groups between them
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels.op import Array, Op, chain_ops
from netpart.layers.checks import at_least, one_source, require_conf
from netpart.layers.layer import INPUT, Layer, MemoryOrder, ParamSpec
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import bias_region, part_bias, product_cost, wanted_gradient, weight_and_bias
from netpart.layers.windows import (
    channel_count,
    convolution_groups,
    empty_input,
    read_fitting_windows,
    with_channel_axis,
)
from netpart.spec import Region, Shape, Spec, extent, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Convolution(Layer):
    """y[b, f] = sum over c of x[b, c] * w[f, c] + bias[f]; input (batch, [channels,] spatial...).

    With ``groups`` the sum runs over the channels of f's group. Only one group can be cut on the inputs.
    """

    types: ClassVar[tuple[str, ...]] = ("kConvolution", "kCConvolution", "kCudnnConv")
    narrow_verbs: ClassVar[tuple[str, ...]] = ("convolution",)
    confs: ClassVar[tuple[str, ...]] = ("convolution_conf",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.CHANNELS_LAST
    splits_backward: ClassVar[bool] = True
    rereads = "x"
    fuses_activation: ClassVar[bool] = True

    def infer(self) -> tuple[Spec, ...]:
        source = one_source(self)
        conf = self.conf.convolution_conf
        require_conf(self, "convolution_conf", "num_filters: 32 kernel: 3")
        self.filters = at_least(self, 1, conf.num_filters, "convolution_conf", "num_filters")
        self.sliding = read_fitting_windows(self, "convolution_conf", source)
        self.channels = channel_count(source, self.sliding)
        self.groups = convolution_groups(self, self.channels, self.filters)
        self.seen = self.channels // self.groups
        self.share = self.filters // self.groups
        return (Spec((source.shape[0], self.filters, *self.sliding.outputs)),)

    def parameters(self) -> tuple[ParamSpec, ...]:
        kernel = self.sliding.kernel
        matrix = self.filters, self.seen * prod(kernel)
        return weight_and_bias(self, (self.filters, self.seen, *kernel), matrix, matrix, factor=True)

    def cuts(self) -> tuple[int | str, ...]:
        return (*range(self.output.rank), INPUT) if self.groups == 1 else tuple(range(self.output.rank))

    def contraction(self) -> Shape | None:
        return (self.channels,) if self.groups == 1 else None

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        ranges = self.sliding.reads(region[2:])
        empty = any(lo == hi for lo, hi in ranges)
        middle = (term or (self._channels(region[1]),)) if self.inputs[0].rank == self.output.rank else ()
        weight = (region[1], *(term or ((0, self.seen),)), *((0, k) for k in self.sliding.kernel))
        return Needs((None if empty else (region[0], *middle, *ranges),), (weight, *bias_region(self, region[1], term)))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        needs = self.needs(region, term)
        return product_cost(needs, size(region), size(term or ((0, self.seen),)) * prod(self.sliding.kernel))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        window = self.sliding.window(call.region[2:])
        x = self._input(kernels, call)
        w = call.w[0]
        b = part_bias(call, call.w)
        ops = [
            kernels.convolution(
                x[:, c], w[f], None if b is None else b[f], call.y[0][:, f], window, groups, call.activation
            )
            for f, c, groups in self._calls(call)
        ]
        return chain_ops(*ops)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        window = self.sliding.window(call.region[2:])
        ops = []
        calls = self._calls(call)
        dx = with_channel_axis(wanted_gradient(call.dx, 0), self.sliding)
        dw = wanted_gradient(call.dw, 0)
        dy = call.dy[0]
        w = call.w[0]
        if dx is not None:
            ops += [kernels.convolution_data(dy[:, f], w[f], dx[:, c], window, groups) for f, c, groups in calls]
        if dw is not None:
            x = self._input(kernels, call)
            db = part_bias(call, call.dw)
            ops += [
                kernels.convolution_weights(x[:, c], dy[:, f], dw[f], None if db is None else db[f], window, groups)
                for f, c, groups in calls
            ]
        return chain_ops(*ops)

    def _channels(self, filters: tuple[int, int]) -> tuple[int, int]:
        """The input channels of all groups that ``filters`` touch."""
        return filters[0] // self.share * self.seen, -(-filters[1] // self.share) * self.seen

    def _calls(self, call: Call) -> list[tuple[slice, slice, int]]:
        """(filters, channels, groups) of kernel calls, relative to the part: each of equal groups."""
        if self.groups == 1:
            return [(slice(None), slice(None), 1)]
        (lo, hi) = call.region[1]
        first = self._channels(call.region[1])[0]
        # A kernel call takes groups of one size. Only the first and the last group of a part can be partial, so at most
        # three calls suffice: [lo, up) of the first group, [up, down) of whole groups, [down, hi) of the last one.
        up = min(-(-lo // self.share) * self.share, hi)
        down = max(hi // self.share * self.share, lo)
        bounds = sorted({lo, up, down, hi})
        found = []
        for a, b in pairwise(bounds):
            c, d = self._channels((a, b))
            found.append((slice(a - lo, b - lo), slice(c - first, d - first), (d - c) // self.seen))
        return found

    def _input(self, kernels: Kernels, call: Call) -> Array:
        """The part's input with a channel axis; empty if all windows of the part lie in padding."""
        if call.needs.inputs[0] is not None:
            return with_channel_axis(call.x[0], self.sliding)
        lo, hi = self._channels(call.region[1])
        channels = hi - lo if call.term is None else call.w[0].shape[1]
        return empty_input(kernels, len(call.y[0]), channels, *extent(self.sliding.reads(call.region[2:])))
