"""kSoftmax and kCudnnSoftmax: softmax of each row, or of each of several equal groups of features."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import at_least, fault, one_source
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Spec, extent, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Softmax(Layer):
    """exp(x) / sum exp(x) over each of num_softmax_per_instance groups of (batch, features), or along axis.

    It can be cut on every axis but the one along which it is computed.
    """

    types: ClassVar[tuple[str, ...]] = ("kSoftmax", "kCudnnSoftmax")
    confs: ClassVar[tuple[str, ...]] = ("softmax_conf",)

    def infer(self) -> tuple[Spec, ...]:
        source = one_source(self)
        at = ("softmax_conf", "num_softmax_per_instance")
        self.axis = self._chosen_axis(source)
        self.groups = at_least(self, 1, self.conf.softmax_conf.num_softmax_per_instance, *at)
        if self.groups > 1 and source.rank != 2:
            raise fault(self, "groups of a source (batch, features)", str(source.shape), "omit them, or axis", *at)
        if source.shape[self.axis] % self.groups:
            got = f"{self.groups} over {source.shape[self.axis]} features"
            raise fault(self, "groups that divide the features", got, "change num_softmax_per_instance", *at)
        return (source,)

    def _chosen_axis(self, source: Spec) -> int:
        """The axis along which the elements add up to 1, counted from 0."""
        conf = self.conf.softmax_conf
        if not conf.HasField("axis"):
            if source.rank != 2:
                hint = "write the axis in softmax_conf, or put an inner product in between"
                raise fault(self, "a source (batch, features)", str(source.shape), hint, "srclayers", 0)
            return 1
        axis = conf.axis + source.rank if conf.axis < 0 else conf.axis
        if not 1 <= axis < source.rank:
            hint = "axis 0 is the batch; -1 is the last axis"
            raise fault(self, f"an axis from 1 to {source.rank - 1}", str(conf.axis), hint, "softmax_conf", "axis")
        return axis

    def cuts(self) -> tuple[int | str, ...]:
        return tuple(axis for axis in range(self.output.rank) if axis != self.axis)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(((*region[: self.axis], self.output.whole[self.axis], *region[self.axis + 1 :]),))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.elementwise_flops(size(region)), (flops.elementwise_flops(size(region)),))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        if self._along_rows:
            return kernels.softmax(call.x[0], call.y[0], self._groups(call))
        return kernels.softmax_along(call.x[0], call.y[0], self.axis)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        if dx is None:
            return chain_ops()
        if self._along_rows:
            return kernels.softmax_gradient(call.y[0], call.dy[0], dx, self._groups(call))
        return kernels.softmax_along_gradient(call.y[0], call.dy[0], dx, self.axis)

    @property
    def _along_rows(self) -> bool:
        """True if the elements of a softmax are neighbours in memory: the axes after theirs have one element."""
        return prod(self.output.shape[self.axis + 1 :]) == 1

    def _groups(self, call: Call) -> int:
        """The softmaxes in a row of a part."""
        return self.groups * max(1, prod(extent(call.region)[1 : self.axis]))
