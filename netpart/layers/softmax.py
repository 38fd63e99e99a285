"""kSoftmax and kCudnnSoftmax: softmax of each row, or of each of several equal groups of features."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import at_least, fault, one_source
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Softmax(Layer):
    """exp(x) / sum exp(x) over each of num_softmax_per_instance groups of (batch, features)."""

    types: ClassVar[tuple[str, ...]] = ("kSoftmax", "kCudnnSoftmax")
    confs: ClassVar[tuple[str, ...]] = ("softmax_conf",)

    def infer(self) -> tuple[Spec, ...]:
        source = one_source(self)
        at = ("softmax_conf", "num_softmax_per_instance")
        if source.rank != 2:
            hint = "put an inner product in between"
            raise fault(self, "a source (batch, features)", str(source.shape), hint, "srclayers", 0)
        self.groups = at_least(self, 1, self.conf.softmax_conf.num_softmax_per_instance, *at)
        if source.shape[1] % self.groups:
            got = f"{self.groups} over {source.shape[1]} features"
            raise fault(self, "groups that divide the features", got, "change num_softmax_per_instance", *at)
        return (source,)

    def cuts(self) -> tuple[int | str, ...]:
        return (0,)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(((region[0], *self.output.whole[1:]),))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.elementwise_flops(size(region)), (flops.elementwise_flops(size(region)),))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.softmax(call.x[0], call.y[0], self.groups)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        return chain_ops() if dx is None else kernels.softmax_gradient(call.y[0], call.dy[0], dx, self.groups)
