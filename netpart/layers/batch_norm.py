"""kBM and kCudnnBM: batch normalisation (Ioffe and Szegedy, arXiv:1502.03167), per channel over rows and space."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.arguments import (
    BatchNormaliseArguments,
    BatchNormArguments,
    BatchNormGradientArguments,
    MomentNormGradientArguments,
)
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import fault, one_source
from netpart.layers.layer import Layer, LayerExpansion, MemoryOrder, ParamSpec, RunningStatistic
from netpart.layers.moment_norm import MomentNorm
from netpart.layers.moments import Moments
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import FLOAT, Placement, Region, Shape, Spec, extent, relative_slices, size, whole_region

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

AFFINE, RUNNING = ("weight", "bias"), ("mean", "variance")


@final
class BatchNorm(Layer):
    """y = (x - mean) / sqrt(variance + epsilon) · weight + bias, with the statistics of the (micro-)batch in training
    and the running ones, which follow the mini-batch, in tests.

    A param block gives the weight, a second one the bias; a third and fourth name the running statistics. A part
    whose channels are not all there needs all of them; a pass expands the layer then, so that only moments travel.
    With bn_mode LOCAL a part normalises with its own statistics and needs nothing from others. A frozen layer uses the
    running statistics in training, too: it is an affine function of each element, and the statistics stay as they are.
    """

    types: ClassVar[tuple[str, ...]] = ("kBM", "kCudnnBM")
    narrow_verbs: ClassVar[tuple[str, ...]] = ("batch_norm",)
    confs: ClassVar[tuple[str, ...]] = ("bm_conf",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST
    rereads = "x"
    fuses_activation: ClassVar[bool] = True
    fuses_back: ClassVar[bool] = True
    inner_prefix = "moments"

    def infer(self) -> tuple[Spec, ...]:
        from netpart.proto.neuron_pb2 import BMProto

        conf = self.conf.bm_conf
        source = one_source(self)
        self.local = conf.bn_mode == BMProto.LOCAL
        self.measures = self.training and not conf.frozen
        """True if it normalises by the statistics of the batch, which the running ones follow."""
        self.epsilon = conf.epsilon
        if not 0 <= conf.momentum <= 1:
            hint = "it is the share of the running statistics that stays at each step"
            raise fault(self, "a momentum from 0 to 1", f"{conf.momentum:g}", hint, "bm_conf", "momentum")
        if not conf.epsilon > 0:
            hint = "it keeps a channel without variance finite"
            raise fault(self, "an epsilon above 0", f"{conf.epsilon:g}", hint, "bm_conf", "epsilon")
        return (source,)

    def parameters(self) -> tuple[ParamSpec, ...]:
        protos = list(self.conf.param)
        shape = self.output.shape[1:2]
        if len(protos) > 4:
            raise fault(self, "at most 4 param blocks (weight, bias, mean, variance)", str(len(protos)), "", "param")
        trained = [ParamSpec(key, shape, p, None, shape) for key, p in zip(AFFINE, protos, strict=False)]
        return (*trained, *self._running(protos[2:], shape))

    def _running(self, protos: list[Any], shape: Shape) -> tuple[ParamSpec, ...]:
        """Mean and variance, which start at 0 and 1 unless their param blocks set other values."""
        from netpart.proto.param_pb2 import InitMethod, ParamGenProto, ParamProto

        for i, proto in enumerate(protos):
            if proto.share_from:
                hint = "each layer has running statistics of its own"
                raise fault(self, "no share_from", repr(proto.share_from), hint, "param", 2 + i, "share_from")
        defaults = [ParamProto(init=ParamGenProto(type=InitMethod.kConstant, value=value)) for value in (0, 1)]
        mean, variance = protos + defaults[len(protos) :]
        keep = self.conf.bm_conf.momentum
        elements = prod(self.output.shape[2:])
        centre = f"{self.name}/{mean.name or RUNNING[0]}"
        fixed = self.conf.bm_conf.frozen
        return (
            ParamSpec(RUNNING[0], shape, mean, None, shape, RunningStatistic(keep, elements), fixed),
            ParamSpec(RUNNING[1], shape, variance, None, shape, RunningStatistic(keep, elements, centre), fixed),
        )

    @property
    def pools(self) -> bool:
        """True if the parts of a channel combine their moments: in training, unless frozen or with bn_mode LOCAL."""
        return self.measures and not self.local

    def is_self_sufficient(self, placement: Placement) -> bool:
        if self.measures and self.local and not placement.exact:
            hint = "cut it into parts that do not overlap, or write bn_mode: SYNC"
            raise fault(self, "disjoint parts with bn_mode: LOCAL", "some that overlap", hint, "bm_conf", "bn_mode")
        alone = all(self._seen(s.region) == s.region for s in placement.shards)
        return not self.pools or (alone and placement.exact)

    def expansion(self, name: str) -> LayerExpansion:
        inner = Moments(self, name)
        return LayerExpansion(inner, MomentNorm(self, inner.output), inner.share)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((self._seen(region),), ((region[1],),) * len(self.params))

    def _seen(self, region: Region) -> Region:
        """The region of x that ``region`` of the output is computed from: all rows and positions if ``pools``."""
        if not self.pools:
            return region
        rows, _, *space = self.output.shape
        return ((0, rows), region[1], *whole_region(space))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        own = flops.elementwise_flops(size(region))
        affine = own * (len(self.params) - 2)
        if not self.measures:
            return Cost(own, (own,), affine)
        seen = flops.elementwise_flops(size(self._seen(region)))
        return Cost(seen + own, (seen + 2 * own,), affine)

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        channels = extent(region[1:2])
        moments = (1, *channels, 2)
        kept = ((moments, FLOAT), (moments, FLOAT), (channels, FLOAT), (channels, FLOAT)) if self.measures else ()
        return (channels, FLOAT), *kept

    def forward(self, kernels: Kernels, call: Call) -> Op:
        (*affine, s, variance) = call.w
        (x, y) = (call.x[0], call.y[0])
        (rstd, *kept) = call.aux
        w, b = (*affine, None, None)[:2]
        if not self.measures:
            given = BatchNormaliseArguments(x, s, variance, w, b, y, rstd, self.epsilon, call.activation)
            return kernels.batch_normalise(given)
        m, _, mean, variance = kept
        return kernels.batch_norm(
            BatchNormArguments(
                x=x, s=s, m=m, mean=mean, variance=variance, w=w, b=b, y=y, rstd=rstd, own=self._own(call),
                epsilon=self.epsilon, activation=call.activation,
            )
        )  # fmt: skip

    def backward(self, kernels: Kernels, call: Call) -> Op:
        return self._through_moments(kernels, call) if self.measures else self._past_moments(kernels, call)

    def _past_moments(self, kernels: Kernels, call: Call) -> Op:
        """The gradient where mean and variance are constants: those of an affine function of each element."""
        (x, dy, rstd) = (call.x[0], call.dy[0], call.aux[0])
        (*affine, s, variance) = call.w
        w, b = (*affine, None, None)[:2]
        dw, db = (*call.dw[:-2], None, None)[:2]
        arguments = MomentNormGradientArguments(
            x=x, m=None, mean=s, variance=variance, w=w, rstd=rstd, dy=dy, dm=None, dw=dw, db=db,
            dx=wanted_gradient(call.dx, 0), epsilon=self.epsilon,
        )  # fmt: skip
        # The mask of the relu has to be in dy before the sums over dy are taken.
        masked = [kernels.batch_norm_relu(x, s, rstd, w, b, dy)] if call.through_activation else []
        return chain_ops(*masked, kernels.moment_norm_gradient(arguments))

    def _through_moments(self, kernels: Kernels, call: Call) -> Op:
        (*affine, s, _) = call.w
        (*gradients, dmean, dvariance) = call.dw
        (rstd, m, dm, mean, variance) = call.aux
        (w, b), dw, db = (*affine, None, None)[:2], *(*gradients, None, None)[:2]
        share = self._count(call) / (call.rows * prod(self.output.shape[2:]))
        arguments = BatchNormGradientArguments(
            x=call.x[0], s=s, m=m, mean=mean, variance=variance, w=w, rstd=rstd, dy=call.dy[0], dm=dm, dw=dw, db=db,
            dx=wanted_gradient(call.dx, 0), own=self._own(call), epsilon=self.epsilon, b=b,
            through=call.through_activation,
        )  # fmt: skip
        return chain_ops(kernels.batch_norm_gradient(arguments), kernels.moments_share(m, share, dmean, dvariance))

    def _count(self, call: Call) -> int:
        """The elements of a channel that its moments are taken over."""
        rows, _, *space = self._seen(call.region)
        return max(1, size((rows, *space)))

    def _own(self, call: Call) -> tuple[slice, ...]:
        return relative_slices(call.region, self._seen(call.region))
