"""kSoftmaxLoss and kCudnnSoftmaxLoss: softmax, then the cross-entropy with the label of each row."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

from netpart.kernels import flops
from netpart.kernels.loss_arguments import SoftmaxLossArguments, SoftmaxLossGradientArguments
from netpart.kernels.op import Array, Op, chain_ops
from netpart.layers.checks import at_least, check_sources, fault, float_source, label_axes
from netpart.layers.class_blocks import ClassBlocks
from netpart.layers.class_loss import ClassLoss
from netpart.layers.label_rules import COUNTED, mean_figures, read_class_weights
from netpart.layers.label_sums import LabelSums
from netpart.layers.layer import Layer, LayerExpansion
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import FLOAT, INT, Placement, Region, Shape, Spec, extent, relative_slices, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels
    from netpart.proto.job_pb2 import LayerProto


@final
class SoftmaxLoss(Layer):
    """Objective: scale * mean over the rows of the global mini-batch of -log p(label); y are the probabilities.

    Labels (batch, ...) may exist for every position of a row. The classes are the axes of the prediction (batch, ...,
    classes) after the axes of the labels. A row counts as the mean over its positions.
    A part of the classes needs all classes. If the classes are cut, a graph pass therefore expands the layer, so that
    the workers exchange only figures of blocks of classes.
    With label_smoothing that share of the target is divided equally among all classes. With class_weight, the log p of
    each class is multiplied by the weight of the class. Positions whose label is ignore_index count for nothing.
    With normalisation WEIGHTS the sum is divided by the sum of the weights of the labels that count, as PyTorch's
    cross_entropy does; it is 0 if that is 0. A part then needs all labels, and a graph pass expands the layer, so that
    only sums of weights are exchanged.
    Reports the objective and the accuracy: the share of the positions that count whose label is among the topk most
    probable classes. With ``bits`` it also reports the first divided by log 2.
    """

    types: ClassVar[tuple[str, ...]] = ("kSoftmaxLoss", "kCudnnSoftmaxLoss")
    confs: ClassVar[tuple[str, ...]] = ("softmaxloss_conf",)
    metrics: tuple[str, ...] = ("loss", "accuracy")
    is_loss: ClassVar[bool] = True

    def __init__(self, conf: LayerProto, inputs: tuple[Spec, ...], *, total: Spec | None = None, **given: Any) -> None:
        """As other layers; ``total``: the sum of the weights of the mini-batch, which is then a third input."""
        self.knows_total = total is not None
        super().__init__(conf, inputs if total is None else (*inputs, total), **given)

    def infer(self) -> tuple[Spec, ...]:
        check_sources(self, "the prediction", "the labels", *["the sum of the weights"] * self.knows_total)
        prediction = float_source(self)
        conf = self.conf.softmaxloss_conf
        self.places = label_axes(self, 1, prediction)
        self.positions = prod(self.inputs[1].shape[1:])
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
        self._infer_label_rules()
        return (prediction,)

    def _infer_label_rules(self) -> None:
        """Set the weights, the ignored label, and the metrics that these need."""
        from netpart.proto.neuron_pb2 import SoftmaxLossProto

        conf = self.conf.softmaxloss_conf
        self.weights = read_class_weights(self, self.classes)
        self.ignored_label = int(conf.ignore_index) if conf.HasField("ignore_index") else None
        self.by_weights = conf.normalisation == SoftmaxLossProto.WEIGHTS
        self.inner_prefix = "weights" if self._sums_weights else "blocks"
        if self.ignored_label is not None:
            self.metrics = (*self.metrics, COUNTED)
        if conf.bits:
            self.metrics = (*self.metrics, "bits")

    def check_micro_batches(self, count: int) -> None:
        if self.by_weights:
            hint = "write normalisation: ROWS, or remove micro_batches"
            expected = "a whole mini-batch, to sum the weights before the first backward"
            raise fault(self, expected, f"{count} micro-batches", hint, "softmaxloss_conf", "normalisation")

    @classmethod
    def read_output(cls, k: int) -> str:
        return "label" if k == 1 else "data"

    def cuts(self) -> tuple[int | str, ...]:
        # Classes that lie on several axes are never cut: blocks of classes are ranges of one axis.
        one_axis = self.output.rank == self.places + 1
        return tuple(range(self.places + one_axis))

    def is_self_sufficient(self, placement: Placement) -> bool:
        # Of parts that see all classes and, where weights are summed, all labels.
        places = 0 if self._sums_weights else self.places
        return all(shard.region[places:] == self.output.whole[places:] for shard in placement.shards)

    def expansion(self, name: str) -> LayerExpansion:
        if self._sums_weights:
            sums = LabelSums(self, name)
            outer = SoftmaxLoss(self.conf, self.inputs, total=sums.output, training=self.training)
            return LayerExpansion(sums, outer, sums.share, sources=(1,))
        blocks = ClassBlocks(self, name)
        return LayerExpansion(blocks, ClassLoss(self, blocks.output), blocks.share)

    @property
    def _sums_weights(self) -> bool:
        """True if a part sums the weights of all labels itself."""
        return self.by_weights and not self.knows_total

    def _seen(self, region: Region) -> Region:
        """The region of the prediction that ``region`` is computed from: all classes of its positions."""
        return (*region[: self.places], *self.output.whole[self.places :])

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        labels = self.inputs[1].whole if self._sums_weights else region[: self.places]
        return Needs((self._seen(region), labels, *(spec.whole for spec in self.inputs[2:])))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        seen = flops.elementwise_flops(size(self._seen(region)))
        summed = flops.elementwise_flops(size(self.inputs[1].whole)) if self._sums_weights else 0
        return Cost(seen + summed, (seen,))

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        """A buffer for the probabilities of all classes, if the part outputs only some of them. If it sums weights,
        also its own labels, and the sum."""
        seen = self._seen(region)
        probabilities = () if seen == region else ((extent(seen), FLOAT),)
        summed = ((extent(region[: self.places]), INT), ((1, 1), FLOAT)) if self._sums_weights else ()
        return (*probabilities, *summed)

    def forward(self, kernels: Kernels, call: Call) -> Op:
        kept = self._kept(call)
        loss = kernels.softmax_loss(
            SoftmaxLossArguments(
                x=call.x[0], label=kept.label, y=kept.y, metrics=call.metrics, owned=self._owned(kernels, call),
                topk=self.topk, scale=self.scale, positions=self.positions, smoothing=self.smoothing,
                weights=self.weights, ignored=self.ignored_label, total=kept.total, batch=self._count(call),
            )
        )  # fmt: skip
        summed = self._sum_weights(kernels, call, kept) if self._sums_weights else []
        copied = [kernels.copy(call.y[0], kept.y[self._own(call)])] if kept.y is not call.y[0] else []
        return chain_ops(*summed, loss, *copied)

    def _sum_weights(self, kernels: Kernels, call: Call, kept: _KeptArrays) -> list[Op]:
        """Copies the labels of the part, and sums the weights of all labels."""
        own = relative_slices(call.region[: self.places], self.inputs[1].whole)
        sums = kernels.label_weights(call.x[1], kept.total, self.classes, self.weights, self.ignored_label)
        return [sums, kernels.copy(kept.label, call.x[1][own])]

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        if dx is None:
            return chain_ops()
        kept = self._kept(call)
        return kernels.softmax_loss_gradient(
            SoftmaxLossGradientArguments(
                y=kept.y, label=kept.label, dx=dx, owned=self._owned(kernels, call),
                # The mean over the global mini-batch and its positions, whatever share of them this part computes.
                factor=self.scale / self._count(call), smoothing=self.smoothing, weights=self.weights,
                ignored=self.ignored_label, total=kept.total, batch=self._count(call),
            )
        )  # fmt: skip

    def figures(self, sums: Sequence[float], rows: int) -> dict[str, float]:
        return mean_figures(self.metrics, sums, rows)

    def _count(self, call: Call) -> int:
        """The labels of the global mini-batch."""
        return call.rows * self.positions

    def _kept(self, call: Call) -> _KeptArrays:
        """What forward computes with and backward reads again."""
        if self._sums_weights:
            *probabilities, label, total = call.aux
            return _KeptArrays((*probabilities, call.y[0])[0], label, total)
        return _KeptArrays((*call.aux, call.y[0])[0], call.x[1], call.x[2] if self.knows_total else None)

    def _own(self, call: Call) -> tuple[slice, ...]:
        """The slices of the prediction's region that are the part's own."""
        return relative_slices(call.region, self._seen(call.region))

    def _owned(self, kernels: Kernels, call: Call) -> Array | None:
        """The mask, over all classes, of the elements that this part differentiates; None: all."""
        if self._seen(call.region) == call.region:
            return call.owned
        mask = kernels.xp.zeros(call.x[0].shape, bool)
        mask[self._own(call)] = True if call.owned is None else call.owned
        return mask


class _KeptArrays(NamedTuple):
    """Of a part: the probabilities of all classes, its own labels, and the sum of the weights of all labels or None."""

    y: Array
    label: Array
    total: Array | None
