"""MomentNorm: the rest of a batch norm whose moments are known; stands in the place of one that is cut."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.arguments import MomentNormArguments, MomentNormGradientArguments
from netpart.kernels.op import Op
from netpart.layers.layer import Layer, MemoryOrder, ParamSpec
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import FLOAT, Region, Shape, Spec, extent, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class MomentNorm(Layer):
    """y = (x - mean) · rstd · weight + bias, element by element, of x (batch, channels, ...) and its moments.

    It reads the running mean, about which the moments are taken, and does not move it.
    """

    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST
    narrow_verbs: ClassVar[tuple[str, ...]] = ("moment_norm",)
    exact_inputs: ClassVar[tuple[int, ...]] = (1,)
    rereads = "x"
    fuses_activation: ClassVar[bool] = True

    def __init__(self, norm: Layer, moments: Spec) -> None:
        """The rest of batch norm ``norm``."""
        self.norm = norm
        super().__init__(norm.conf, (norm.inputs[0], moments), training=norm.training)

    def infer(self) -> tuple[Spec, ...]:
        return self.norm.outputs

    def parameters(self) -> tuple[ParamSpec, ...]:
        *affine, mean, _ = self.norm.params
        return (*affine, replace(mean, read_only=True))

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region, ((0, 1), region[1], (0, 2))), ((region[1],),) * len(self.params))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        own = flops.elementwise_flops(size(region))
        return Cost(own, (own, own), own * (len(self.params) - 1))

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        channels = (extent(region[1:2]), FLOAT)
        return channels, channels, channels

    def forward(self, kernels: Kernels, call: Call) -> Op:
        (*affine, s) = call.w
        (x, m) = call.x
        (rstd, mean, variance) = call.aux
        w, b = (*affine, None, None)[:2]
        return kernels.moment_norm(
            MomentNormArguments(
                x=x, s=s, m=m, mean=mean, variance=variance, w=w, b=b, y=call.y[0], rstd=rstd,
                epsilon=self.epsilon, activation=call.activation,
            )
        )  # fmt: skip

    def backward(self, kernels: Kernels, call: Call) -> Op:
        (*affine, _) = call.w
        (*gradients, _) = call.dw
        (rstd, mean, variance) = call.aux
        (x, m) = call.x
        dx = wanted_gradient(call.dx, 0)
        dm = wanted_gradient(call.dx, 1)
        w, dw, db = (*affine, None)[0], *(*gradients, None, None)[:2]
        return kernels.moment_norm_gradient(
            MomentNormGradientArguments(
                x=x, m=m, mean=mean, variance=variance, w=w, rstd=rstd, dy=call.dy[0], dm=dm, dw=dw, db=db, dx=dx,
                epsilon=self.epsilon,
            )
        )  # fmt: skip

    @property
    def epsilon(self) -> float:
        return float(self.norm.conf.bm_conf.epsilon)
