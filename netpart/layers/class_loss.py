"""ClassLoss: the second half of a softmax loss that is cut on classes; it reads the figures of ``ClassBlocks``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.loss_arguments import ClassLossArguments, SoftmaxLossGradientArguments
from netpart.kernels.op import Array, Op, chain_ops
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels
    from netpart.layers.softmax_loss import SoftmaxLoss


@final
class ClassLoss(Layer):
    """Objective and metrics of kSoftmaxLoss. A part computes the probabilities and gradients of its own classes.

    The part that holds the first class of a row reports the metrics of that row.
    """

    is_loss: ClassVar[bool] = True

    def __init__(self, loss: SoftmaxLoss, blocks: Spec) -> None:
        """``loss``: the softmax loss to replace, with its classes on the last axis; ``blocks``: the output of its
        ClassBlocks.
        """
        self.loss = loss
        self.metrics = loss.metrics
        self.classes = loss.classes
        self.ignored_label = loss.ignored_label
        super().__init__(loss.conf, (*loss.inputs, blocks), training=loss.training)

    def infer(self) -> tuple[Spec, ...]:
        return (self.inputs[0],)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        blocks = (*region[:-1], *self.inputs[-1].whole[-2:])
        return Needs((region, region[:-1], *(spec.whole for spec in self.inputs[2:-1]), blocks))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        own = flops.elementwise_flops(size(region))
        return Cost(own + flops.elementwise_flops(size(self.needs(region).inputs[-1] or ())), (own,))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        (x, label, *_, f) = call.x
        loss = self.loss
        return kernels.class_loss(
            ClassLossArguments(
                x=x, label=label, f=f, y=call.y[0], metrics=None if call.region[-1][0] else call.metrics,
                owned=call.owned, classes=self.output.shape[-1], topk=loss.topk, scale=loss.scale,
                positions=loss.positions, smoothing=loss.smoothing, weights=loss.weights, ignored=loss.ignored_label,
                total=self._total(call), batch=self._count(call),
            )
        )  # fmt: skip

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        (first, _) = call.region[-1]
        loss = self.loss
        if dx is None:
            return chain_ops()
        return kernels.softmax_loss_gradient(
            SoftmaxLossGradientArguments(
                y=call.y[0], label=call.x[1], dx=dx, owned=call.owned, factor=loss.scale / self._count(call),
                smoothing=loss.smoothing, among=(first, self.output.shape[-1]), weights=loss.weights,
                ignored=loss.ignored_label, total=self._total(call), batch=self._count(call),
            )
        )  # fmt: skip

    def figures(self, sums: Sequence[float], rows: int) -> dict[str, float]:
        return self.loss.figures(sums, rows)

    def _count(self, call: Call) -> int:
        """The labels of the global mini-batch."""
        return call.rows * self.loss.positions

    def _total(self, call: Call) -> Array | None:
        """The sum of the weights of the mini-batch, if the loss is divided by it."""
        return call.x[2] if self.loss.knows_total else None
