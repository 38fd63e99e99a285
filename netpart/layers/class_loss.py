"""ClassLoss: the second half of a softmax loss that is cut on classes; it reads the figures of ``ClassBlocks``."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class ClassLoss(Layer):
    """Objective and metrics of kSoftmaxLoss. A part computes the probabilities and gradients of its own classes.

    The part that holds the first class of a row reports the metrics of that row.
    """

    is_loss: ClassVar[bool] = True

    def __init__(self, loss: Layer, blocks: Spec, topk: int) -> None:
        """``loss``: the softmax loss to replace, with its classes on the last axis; ``blocks``: the output of its
        ClassBlocks; ``topk``: the number of largest classes that count as a hit.
        """
        conf = loss.conf.softmaxloss_conf
        self.topk = topk
        self.scale = float(conf.scale)
        self.smoothing = float(conf.label_smoothing)
        self.metrics = loss.metrics
        self.classes = loss.classes
        super().__init__(loss.conf, (*loss.inputs, blocks), training=loss.training)

    def infer(self) -> tuple[Spec, ...]:
        return (self.inputs[0],)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region, region[:-1], (*region[:-1], *self.inputs[2].whole[-2:])))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        own = flops.elementwise_flops(size(region))
        return Cost(own + flops.elementwise_flops(size(self.needs(region).inputs[2] or ())), (own,))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        (x, label, f) = call.x
        # All parts of a row know its metrics. Only the one that starts at class 0 adds them, or they count twice.
        metrics = None if call.region[-1][0] else call.metrics
        figures = self.output.shape[-1], self.topk, self.scale, self._positions, self.smoothing
        return kernels.class_loss(x, label, f, call.y[0], metrics, call.owned, *figures)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        (first, _) = call.region[-1]
        if dx is None:
            return chain_ops()
        factor = self.scale / (call.rows * self._positions)
        among = (first, self.output.shape[-1])
        return kernels.softmax_loss_gradient(call.y[0], call.x[1], dx, call.owned, factor, self.smoothing, among)

    @property
    def _positions(self) -> int:
        return prod(self.inputs[1].shape[1:])
