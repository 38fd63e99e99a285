"""kSoftmaxLoss and kCudnnSoftmaxLoss: softmax, then the cross-entropy with the label of each row."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain
from netpart.layers.checks import at_least, fault, labels, numbers, sources
from netpart.layers.layer import Call, Cost, Layer, Needs
from netpart.layers.weights import wanted
from netpart.spec import Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class SoftmaxLoss(Layer):
    """Objective: scale * mean over the rows of the global mini-batch of -log p(label); y are the probabilities.

    Labels (batch, ...) may stand at every position of a row: the classes are the axes of the prediction (batch, ...,
    classes) behind those of the labels, and what counts for a row is the mean over its positions.
    With label_smoothing the target is not the label alone: all classes divide that share of it.
    Reports the sums of scale * -log p and of the rows whose label is among the topk most probable classes.
    """

    types: ClassVar[tuple[str, ...]] = ("kSoftmaxLoss", "kCudnnSoftmaxLoss")
    metrics: ClassVar[tuple[str, ...]] = ("loss", "accuracy")
    is_loss: ClassVar[bool] = True

    def infer(self) -> tuple[Spec, ...]:
        sources(self, "the prediction", "the labels")
        prediction, conf = numbers(self), self.conf.softmaxloss_conf
        self.places = labels(self, 1, prediction)
        self.scale, classes = float(conf.scale), prod(prediction.shape[self.places :])
        self.topk = at_least(self, 1, conf.topk, "softmaxloss_conf", "topk")
        if self.topk > classes:
            hint = "write a smaller topk"
            raise fault(self, f"topk up to the {classes} classes", str(self.topk), hint, "softmaxloss_conf", "topk")
        self.smoothing = float(conf.label_smoothing)
        if not 0 <= self.smoothing < 1:
            got, hint = f"{self.smoothing:g}", "write the share that all classes divide"
            raise fault(self, "0 <= label_smoothing < 1", got, hint, "softmaxloss_conf", "label_smoothing")
        return (prediction,)

    @classmethod
    def wants(cls, k: int) -> str:
        return "label" if k == 1 else "data"

    def cuts(self) -> tuple[int | str, ...]:
        return tuple(range(self.places))

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        seen = region[: self.places]
        return Needs(((*seen, *self.output.whole[self.places :]), seen))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.elementwise(size(region)), (flops.elementwise(size(region)),))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        arrays, positions = (call.x[0], call.x[1], call.y[0], call.metrics), prod(self.inputs[1].shape[1:])
        return kernels.softmax_loss(*arrays, call.owned, self.topk, self.scale, positions, self.smoothing)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted(call.dx, 0)
        if dx is None:
            return chain()
        factor = self.scale / (call.rows * prod(self.inputs[1].shape[1:]))
        return kernels.softmax_loss_gradient(call.y[0], call.x[1], dx, call.owned, factor, self.smoothing)
