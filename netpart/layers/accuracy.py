"""kAccuracy: the share of rows whose label is among the topk largest predictions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import at_least, check_sources, fault, float_source, label_axes
from netpart.layers.label_rules import COUNTED, mean_figures, read_argsort_ignored
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Cost, Needs
from netpart.spec import INT, Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Accuracy(Layer):
    """Output (batch, ..., topk): the classes of the largest predictions, best first. It has no gradient.

    There may be one label for each position of a row, as for kSoftmaxLoss. A row then counts as the share of its
    positions that are correct. Positions whose label is ignore_index are not counted.
    """

    types: ClassVar[tuple[str, ...]] = ("kAccuracy",)
    confs: ClassVar[tuple[str, ...]] = ("argsort_conf",)
    metrics: tuple[str, ...] = ("accuracy",)

    def infer(self) -> tuple[Spec, ...]:
        check_sources(self, "the prediction", "the labels")
        prediction = float_source(self)
        self.places = label_axes(self, 1, prediction)
        self.topk = at_least(self, 1, self.conf.argsort_conf.topk, "argsort_conf", "topk")
        self.classes = prod(prediction.shape[self.places :])
        if self.topk > self.classes:
            expected = f"topk up to the {self.classes} classes"
            raise fault(self, expected, str(self.topk), "write a smaller topk", "argsort_conf", "topk")
        self.ignored_label = read_argsort_ignored(self)
        if self.ignored_label is not None:
            self.metrics = (*self.metrics, COUNTED)
        return (Spec((*prediction.shape[: self.places], self.topk), INT),)

    @classmethod
    def read_output(cls, k: int) -> str:
        return "label" if k == 1 else "data"

    def cuts(self) -> tuple[int | str, ...]:
        return tuple(range(self.places))

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        seen = region[: self.places]
        return Needs(((*seen, *self.inputs[0].whole[self.places :]), seen))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        seen = self.needs(region).inputs[0]
        return Cost(flops.elementwise_flops(size(seen or ())))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        positions = prod(self.inputs[1].shape[1:])
        (x, label) = call.x
        count = kernels.accuracy(x, label, call.metrics, self.topk, call.owned, positions, self.ignored_label)
        return chain_ops(count, kernels.largest(x, call.y[0]))

    def figures(self, sums: Sequence[float], rows: int) -> dict[str, float]:
        return mean_figures(self.metrics, sums, rows)
