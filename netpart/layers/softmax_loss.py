"""kSoftmaxLoss and kCudnnSoftmaxLoss: softmax, then the cross-entropy with the label of each row."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Array, Op, chain_ops
from netpart.layers.checks import at_least, check_sources, fault, float_source, label_axes
from netpart.layers.class_blocks import ClassBlocks
from netpart.layers.class_loss import ClassLoss
from netpart.layers.layer import Layer, LayerExpansion
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import FLOAT, Placement, Region, Shape, Spec, extent, relative_slices, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class SoftmaxLoss(Layer):
    """Objective: scale * mean over the rows of the global mini-batch of -log p(label); y are the probabilities.

    Labels (batch, ...) may exist for every position of a row. The classes are the axes of the prediction (batch, ...,
    classes) after the axes of the labels. A row counts as the mean over its positions.
    A part of the classes needs all classes. If the classes are cut, a graph pass therefore expands the layer, so that
    the workers exchange only figures of blocks of classes.
    With label_smoothing that share of the target is divided equally among all classes.
    Reports two sums over the rows: scale * -log p, and 1 for each row whose label is among the topk most probable
    classes. With ``bits`` it also reports the first sum divided by log 2.
    """

    types: ClassVar[tuple[str, ...]] = ("kSoftmaxLoss", "kCudnnSoftmaxLoss")
    confs: ClassVar[tuple[str, ...]] = ("softmaxloss_conf",)
    metrics: tuple[str, ...] = ("loss", "accuracy")
    is_loss: ClassVar[bool] = True
    inner_prefix: ClassVar[str] = "blocks"

    def infer(self) -> tuple[Spec, ...]:
        check_sources(self, "the prediction", "the labels")
        prediction = float_source(self)
        conf = self.conf.softmaxloss_conf
        self.places = label_axes(self, 1, prediction)
        self.scale = float(conf.scale)
        self.classes = prod(prediction.shape[self.places :])
        self.topk = at_least(self, 1, conf.topk, "softmaxloss_conf", "topk")
        if self.topk > self.classes:
            hint = "write a smaller topk"
            raise fault(
                self, f"topk up to the {self.classes} classes", str(self.topk), hint, "softmaxloss_conf", "topk"
            )
        self.smoothing = float(conf.label_smoothing)
        if not 0 <= self.smoothing < 1:
            got = f"{self.smoothing:g}"
            hint = "write the share that all classes divide"
            raise fault(self, "0 <= label_smoothing < 1", got, hint, "softmaxloss_conf", "label_smoothing")
        if conf.bits:
            self.metrics = (*self.metrics, "bits")
        return (prediction,)

    @classmethod
    def read_output(cls, k: int) -> str:
        return "label" if k == 1 else "data"

    def cuts(self) -> tuple[int | str, ...]:
        # Classes that lie on several axes are never cut: blocks of classes are ranges of one axis.
        one_axis = self.output.rank == self.places + 1
        return tuple(range(self.places + one_axis))

    def is_self_sufficient(self, placement: Placement) -> bool:
        return all(self._seen(shard.region) == shard.region for shard in placement.shards)

    def expansion(self, name: str) -> LayerExpansion:
        blocks = ClassBlocks(self, name, self.topk)
        return LayerExpansion(blocks, ClassLoss(self, blocks.output, self.topk), blocks.share)

    def _seen(self, region: Region) -> Region:
        """The region of the prediction that ``region`` is computed from: all classes of its positions."""
        return (*region[: self.places], *self.output.whole[self.places :])

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((self._seen(region), region[: self.places]))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        seen = flops.elementwise_flops(size(self._seen(region)))
        return Cost(seen, (seen,))

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        """A buffer for the probabilities of all classes, if the part outputs only some of them."""
        seen = self._seen(region)
        return () if seen == region else ((extent(seen), FLOAT),)

    def forward(self, kernels: Kernels, call: Call) -> Op:
        y = (*call.aux, call.y[0])[0]
        positions = prod(self.inputs[1].shape[1:])
        arrays = call.x[0], call.x[1], y, call.metrics, self._owned(kernels, call)
        loss = kernels.softmax_loss(*arrays, self.topk, self.scale, positions, self.smoothing)
        return chain_ops(loss, kernels.copy(call.y[0], y[self._own(call)])) if call.aux else loss

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        if dx is None:
            return chain_ops()
        # The mean over the global mini-batch and the positions of a row, whatever share of them this part computes.
        factor = self.scale / (call.rows * prod(self.inputs[1].shape[1:]))
        y = (*call.aux, call.y[0])[0]
        owned = self._owned(kernels, call)
        return kernels.softmax_loss_gradient(y, call.x[1], dx, owned, factor, self.smoothing)

    def _own(self, call: Call) -> tuple[slice, ...]:
        """The slices of the prediction's region that are the part's own."""
        return relative_slices(call.region, self._seen(call.region))

    def _owned(self, kernels: Kernels, call: Call) -> Array | None:
        """The mask, over all classes, of the elements that this part differentiates; None: all."""
        if not call.aux:
            return call.owned
        mask = kernels.xp.zeros(call.x[0].shape, bool)
        mask[self._own(call)] = True if call.owned is None else call.owned
        return mask
