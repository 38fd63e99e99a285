"""kUpsampling: every spatial axis longer by a whole factor, by nearest or linear interpolation."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import at_least, fault, one_source
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Spec, extent

if TYPE_CHECKING:
    from netpart.kernels.op import Array
    from netpart.kernels.reference import Kernels


@final
class Upsampling(Layer):
    """Input (batch, channels, one to three spatial axes). Output i lies at (i + 0.5) / factor - 0.5 of the input."""

    types: ClassVar[tuple[str, ...]] = ("kUpsampling",)
    confs: ClassVar[tuple[str, ...]] = ("upsampling_conf",)

    def infer(self) -> tuple[Spec, ...]:
        from netpart.proto.neuron_pb2 import UpsamplingProto

        source = one_source(self, least=3)
        conf = self.conf.upsampling_conf
        if source.rank > 5:
            raise fault(self, "1, 2 or 3 spatial axes", str(source.rank - 2), "reshape the source", "srclayers", 0)
        self.factor = at_least(self, 1, conf.factor, "upsampling_conf", "factor")
        self.linear = conf.method == UpsamplingProto.LINEAR
        return (Spec((*source.shape[:2], *(n * self.factor for n in source.shape[2:]))),)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(((*region[:2], *(self._reads(axis, region) for axis in range(2, len(region)))),))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        seen = self.needs(region).inputs[0] or ()
        shapes = list(zip(extent(region)[2:], extent(seen)[2:], strict=True))
        price = flops.resample_flops(shapes, prod(extent(region)[:2]))
        return Cost(price, (price,))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.resample(call.x[0], call.y[0], self._weights(kernels, call.region))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        if dx is None:
            return chain_ops()
        return kernels.resample(dx, call.dy[0], self._weights(kernels, call.region), transpose=True)

    def _neighbours(self, axis: int, region: Region) -> tuple[Array, Array, Array]:
        """Per output on ``axis`` of ``region``: the two inputs that it lies between, and the weight of the second."""
        outputs = np.arange(*region[axis])
        last = self.inputs[0].shape[axis] - 1
        if not self.linear:
            return outputs // self.factor, outputs // self.factor, np.zeros(len(outputs))
        at = np.clip((outputs + 0.5) / self.factor - 0.5, 0, last)
        low = at.astype(int)
        return low, np.minimum(low + 1, last), at - low

    def _reads(self, axis: int, region: Region) -> tuple[int, int]:
        """The range of inputs on ``axis`` that ``region`` reads."""
        low, high, _ = self._neighbours(axis, region)
        return (int(low[0]), int(high[-1]) + 1) if len(low) else (0, 0)

    def _weights(self, kernels: Kernels, region: Region) -> list[Array]:
        """Per spatial axis the matrix (outputs of the part, inputs that it reads), in the compute dtype."""
        found = []
        for axis in range(2, len(region)):
            (low, high, share) = self._neighbours(axis, region)
            (start, stop) = self._reads(axis, region)
            weights = np.zeros((len(low), stop - start))
            rows = np.arange(len(low))
            # add.at, not assignment: at the border both neighbours are the same input, and its two weights add up.
            np.add.at(weights, (rows, low - start), 1 - share)
            np.add.at(weights, (rows, high - start), share)
            found.append(kernels.xp.asarray(weights, dtype=kernels.dtype))
        return found
