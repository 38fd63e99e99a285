"""Transposed convolution: the gradient of a convolution as a layer; its windows lie on the output, a stride apart.

Example on one axis, with stride 2, kernel 3, pad 1 and 3 inputs: the part that computes outputs 2 and 3:

    outputs  .  0  1  2  3  4  .
    input 0 [-------]
    input 1       [-------]              reads inputs 1 and 2, whose windows touch outputs 2 and 3;
    input 2             [-------]        input 0 ends at output 1
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, Window, chain_ops
from netpart.kernels.verbs import as_column
from netpart.layers.checks import at_least, fault, one_source, require_conf
from netpart.layers.layer import INPUT, Layer, MemoryOrder, ParamSpec
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import bias_region, part_bias, wanted_gradient, weight_and_bias
from netpart.layers.windows import channel_count, convolution_groups, empty_input, read_windows, with_channel_axis
from netpart.spec import Region, Shape, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.op import Array
    from netpart.kernels.reference import Kernels

FIELD = "convolution_conf"


@final
class TransposedConvolution(Layer):
    """y[b, f] = bias[f] + sum over c of x[b, c] spread by w[c, f]; input (batch, [channels,] spatial...).

    The extent of the output is (n - 1) * stride - pad - pad_end + reach + output_pad (Dumoulin and Visin, 2016,
    section 4): pad is cut off before the first output, pad_end after the last one.
    With ``groups`` the sum runs over the channels of f's group, and the layer can be cut on rows and space only.
    """

    types: ClassVar[tuple[str, ...]] = ("kTransposedConvolution",)
    confs: ClassVar[tuple[str, ...]] = ("convolution_conf",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.CHANNELS_LAST
    splits_backward: ClassVar[bool] = True
    rereads = "x"

    def infer(self) -> tuple[Spec, ...]:
        source = one_source(self)
        conf = self.conf.convolution_conf
        require_conf(self, FIELD, "num_filters: 32 kernel: 2 stride: 2")
        self.filters = at_least(self, 1, conf.num_filters, FIELD, "num_filters")
        self.small = read_windows(self, FIELD, source)
        self.channels = channel_count(source, self.small)
        self.groups = convolution_groups(self, self.channels, self.filters)
        self.share = self.filters // self.groups
        extra = at_least(self, 0, conf.output_pad, FIELD, "output_pad")
        small = self.small
        fields = zip(small.extent, small.stride, small.pad, small.ends, small.reach, strict=True)
        self.space = tuple((n - 1) * s - p - e + k + extra for n, s, p, e, k in fields)
        if min(self.space) < 1:
            raise fault(self, "an output of 1 element or more", str(self.space), "use a smaller pad", FIELD, "pad")
        return (Spec((source.shape[0], self.filters, *self.space)),)

    def parameters(self) -> tuple[ParamSpec, ...]:
        taps = prod(self.small.kernel)
        fan = (self.filters, self.channels // self.groups * taps)
        saved = (self.channels, self.share * taps)
        return weight_and_bias(self, (self.channels, self.share, *self.small.kernel), fan, saved, factor=True)

    def cuts(self) -> tuple[int | str, ...]:
        space = range(2, self.output.rank)
        return (0, 1, *space, INPUT) if self.groups == 1 else (0, *space)

    def contraction(self) -> Shape | None:
        return (self.channels,) if self.groups == 1 else None

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        seen = term or ((0, self.channels),)
        ranges = tuple(self._reads(axis, *span) for axis, span in enumerate(region[2:]))
        empty = any(lo == hi for lo, hi in ranges)
        middle = seen if self.inputs[0].rank == self.output.rank else ()
        weight = (*seen, self._share(region), *((0, k) for k in self.small.kernel))
        return Needs((None if empty else (region[0], *middle, *ranges),), (weight, *bias_region(self, region[1], term)))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        needs = self.needs(region, term)
        taps = size((self._share(region),)) * prod(self.small.kernel)
        seen = needs.inputs[0]
        product = 0 if seen is None else flops.convolution_flops(size(seen), taps, False)
        biased = len(needs.params) > 1 and needs.params[1] is not None
        spread, fold = (size(region), flops.fold_flops(region[1][1] - region[1][0], size(region))) if biased else (0, 0)
        return Cost(product + spread, (product,), product + fold, product // 2)

    def forward(self, kernels: Kernels, call: Call) -> Op:
        y = call.y[0]
        b = part_bias(call, call.w)
        x = self._input(kernels, call)
        window = self._window(call.region)
        spread = kernels.convolution_data(x, call.w[0], y, window, self.groups)
        return chain_ops(spread, *(() if b is None else (kernels.add(y, as_column(b, y.ndim - 2)),)))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        window = self._window(call.region)
        ops = []
        dx = wanted_gradient(call.dx, 0)
        dw = wanted_gradient(call.dw, 0)
        db = part_bias(call, call.dw)
        dy = call.dy[0]
        if dx is not None:
            ops.append(kernels.convolution(dy, call.w[0], None, with_channel_axis(dx, self.small), window, self.groups))
        if dw is not None:
            ops.append(kernels.convolution_weights(dy, self._input(kernels, call), dw, None, window, self.groups))
        if dw is not None and db is not None:
            ops.append(kernels.fold(as_column(db, dy.ndim - 2)[None], dy))
        return chain_ops(*ops)

    def _share(self, region: Region) -> tuple[int, int]:
        """The filters of ``region``, counted within their group; with several groups always all of them."""
        return region[1] if self.groups == 1 else (0, self.share)

    def _reads(self, axis: int, lo: int, hi: int) -> tuple[int, int]:
        """The range of inputs whose windows touch the outputs [lo, hi).

        If the window of the first of them begins after lo, the range has the input before it too.
        """
        n, s, p, k = (f[axis] for f in (self.small.extent, self.small.stride, self.small.pad, self.small.reach))
        # min: with a stride beyond the reach there are gaps between the windows. The extra input keeps the padding of
        # ``_window`` from being negative.
        first = 0 if lo == 0 else min(-(-(lo + p - k + 1) // s), (lo + p) // s)
        stop = n if hi == self.space[axis] else (hi - 1 + p) // s + 1
        first = min(max(first, 0), n)
        stop = min(stop, n)
        return first, max(first, stop)

    def _window(self, region: Region) -> Window:
        """Geometry of the convolution that reads this part of the output and computes the inputs of the part."""
        pads = []
        for axis, (lo, hi) in enumerate(region[2:]):
            s = self.small.stride[axis]
            p = self.small.pad[axis]
            k = self.small.reach[axis]
            first, stop = self._reads(axis, lo, hi)
            pads.append((lo - first * s + p, max(0, (stop - 1) * s - p + k - hi)))
        return Window(self.small.kernel, self.small.stride, tuple(pads), self.small.dilation)

    def _input(self, kernels: Kernels, call: Call) -> Array:
        if call.needs.inputs[0] is not None:
            return with_channel_axis(call.x[0], self.small)
        ranges = (self._reads(axis, *span) for axis, span in enumerate(call.region[2:]))
        return empty_input(kernels, len(call.y[0]), call.w[0].shape[0], *(hi - lo for lo, hi in ranges))
