"""kDropout: sets elements to zero at random in training and scales the others so that the mean is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.kernels.philox import UniformDraws, stream_key
from netpart.layers.checks import fault, one_source
from netpart.layers.layer import Layer, MemoryOrder, MemoryReuse
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import FLOAT, Region, Shape, Spec, extent, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

TRAIN = 1


@final
class Dropout(Layer):
    """Inverted dropout. Which elements become 0 depends on (seed, name, step, global element) only, not on the cut."""

    types: ClassVar[tuple[str, ...]] = ("kDropout",)
    confs: ClassVar[tuple[str, ...]] = ("dropout_conf",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST
    rereads = ""
    reuse = (MemoryReuse.OVER, MemoryReuse.OVER)

    def infer(self) -> tuple[Spec, ...]:
        self.ratio = float(self.conf.dropout_conf.dropout_ratio)
        if not 0 <= self.ratio < 1:
            hint = "write the probability that an element becomes 0"
            raise fault(self, "0 <= dropout_ratio < 1", f"{self.ratio:g}", hint, "dropout_conf", "dropout_ratio")
        return (one_source(self, least=1),)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region,))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.elementwise_flops(size(region)), (flops.elementwise_flops(size(region)),))

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        return ((extent(region), FLOAT),)

    def forward(self, kernels: Kernels, call: Call) -> Op:
        if call.phase != TRAIN:
            return kernels.copy(call.y[0], call.x[0])
        return kernels.dropout(call.x[0], call.y[0], call.aux[0], self._draw(kernels, call), self.ratio, call.clock)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        if dx is None:
            return chain_ops()
        return (
            kernels.dropout_gradient(call.dy[0], call.aux[0], dx)
            if call.phase == TRAIN
            else kernels.copy(dx, call.dy[0])
        )

    def _draw(self, kernels: Kernels, call: Call) -> UniformDraws:
        (lo, hi), *box = call.region
        # Global rows, not those of the micro-batch: the draws must not change with the number of micro-batches.
        rows = call.first_row + lo, call.first_row + hi
        stream = stream_key(call.seed, self.name, "dropout")
        return UniformDraws(kernels.xp, stream, rows, tuple(box), self.output.shape[1:], call.phase)
