"""Local response normalisation across channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.arguments import LrnFactors
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import fault, one_source
from netpart.layers.layer import Layer, MemoryOrder
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import FLOAT, Region, Shape, Spec, extent, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class LRN(Layer):
    """y = x * (knorm + alpha / local_size * sum of x^2 over local_size channels) ^ -beta.

    Krizhevsky et al., ImageNet Classification, 2012, section 3.3, with SINGA's alpha / local_size.
    """

    types: ClassVar[tuple[str, ...]] = ("kLRN", "kCudnnLRN")
    narrow_verbs: ClassVar[tuple[str, ...]] = ("lrn",)
    confs: ClassVar[tuple[str, ...]] = ("lrn_conf",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST

    def infer(self) -> tuple[Spec, ...]:
        conf = self.conf.lrn_conf
        self.local_size = conf.local_size
        self.half = conf.local_size // 2
        self.factors = conf.alpha, conf.beta, conf.knorm
        if conf.local_size < 1 or conf.local_size % 2 == 0:
            hint = f"write local_size: {max(conf.local_size, 0) + 1}"
            raise fault(self, "an odd local_size", str(conf.local_size), hint, "lrn_conf", "local_size")
        return (one_source(self),)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(((region[0], self._seen(region[1]), *region[2:]),))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.elementwise_flops(size(region)), (flops.elementwise_flops(size(region)),))

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        return ((kernels.lrn_keeps(extent(region), self.local_size), FLOAT),)

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.lrn(call.x[0], call.y[0], call.aux[0], self._factors(call))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        if dx is None:
            return chain_ops()
        return kernels.lrn_gradient(call.x[0], call.y[0], call.aux[0], call.dy[0], dx, self._factors(call))

    def _factors(self, call: Call) -> LrnFactors:
        """The window and its constants; the offset is where the part's first channel lies in the channels it sees."""
        offset = call.region[1][0] - self._seen(call.region[1])[0]
        return LrnFactors(offset, self.local_size, *self.factors)

    def _seen(self, channels: tuple[int, int]) -> tuple[int, int]:
        """The channels under the windows of ``channels``, without those beyond the border."""
        return max(channels[0] - self.half, 0), min(channels[1] + self.half, self.output.shape[1])
