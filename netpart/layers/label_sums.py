"""LabelSums: the sum of the weights of all labels, for a softmax loss that is divided by it and cut; inserted, never
written."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op
from netpart.layers.layer import INPUT, Layer
from netpart.layers.part import Call, Cost, Needs
from netpart.proto.layer_pb2 import LayerType
from netpart.spec import Region, Shape, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels
    from netpart.layers.softmax_loss import SoftmaxLoss


@final
class LabelSums(Layer):
    """Output (1, 1): the sum of the class weights of the labels, its only source, that are not ignored.

    Each part sums over a box of labels, the contraction, and has an addend of the sum.
    """

    has_gradient: ClassVar[bool] = False

    def __init__(self, loss: SoftmaxLoss, name: str) -> None:
        """The sum for the softmax loss ``loss``."""
        from netpart.proto.job_pb2 import LayerProto

        self.weights = loss.weights
        self.ignored_label = loss.ignored_label
        self.classes = loss.classes
        labels = loss.conf.srclayers[1:]
        conf = LayerProto(name=name, type=LayerType.kUserLayer, user_type="LabelSums", srclayers=labels)
        super().__init__(conf, loss.inputs[1:2], training=loss.training)

    def infer(self) -> tuple[Spec, ...]:
        return (Spec((1, 1)),)

    def cuts(self) -> tuple[int | str, ...]:
        return (INPUT,)

    def contraction(self) -> Shape | None:
        return self.inputs[0].shape

    def share(self, region: Region) -> tuple[Region, Region | None]:
        """The addend that a box of the loss makes: of its labels if it has the first class, so that each label counts
        once."""
        places = len(self.inputs[0].shape)
        first = all(lo == 0 for lo, _ in region[places:])
        return ((0, 1), (0, int(first))), region[:places]

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((term or self.inputs[0].whole,))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.elementwise_flops(size(term or self.inputs[0].whole)))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.label_weights(call.x[0], call.y[0], self.classes, self.weights, self.ignored_label)
