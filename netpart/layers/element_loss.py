"""Base class of losses that compare each element of a prediction with one of a target."""

from __future__ import annotations

from math import prod
from typing import ClassVar

from netpart.kernels import flops
from netpart.layers.checks import check_sources, fault, float_source
from netpart.layers.layer import Layer
from netpart.layers.part import Cost, Needs
from netpart.spec import FLOAT, INT, Region, Spec, size


class ElementLoss(Layer):
    """Objective: scale * mean over the rows of the global mini-batch, and over the elements of a row.

    The rows of the target may have other axes than those of the prediction if they hold the same number of elements.
    If both have the same shape, the loss may be cut on any axis, else on the batch.
    """

    confs: ClassVar[tuple[str, ...]] = ("loss_conf",)
    metrics: tuple[str, ...] = ("loss",)
    is_loss: ClassVar[bool] = True
    unread: ClassVar[tuple[str, ...]] = ()
    """Fields of loss_conf that the type does not read."""
    target_dtype: ClassVar[str]
    hint: ClassVar[str]
    """The next step of an error about the target."""

    def infer(self) -> tuple[Spec, ...]:
        check_sources(self, "the prediction", "the target")
        prediction = float_source(self, 0)
        for name in self.unread:
            self._require_unset(name)
        self.scale = float(self.conf.loss_conf.scale)
        self.elements = prod(prediction.shape[1:])
        self._check_target(prediction)
        return (prediction,)

    def _require_unset(self, name: str) -> None:
        """Raise ConfigError for a field that only other types read."""
        given = {field.name: value for field, value in self.conf.loss_conf.ListFields()}
        if name in given:
            got = str(given[name])
            raise fault(self, f"no {name}", got, "remove it: another type reads it", "loss_conf", name)

    def _check_target(self, prediction: Spec) -> None:
        """Raise ConfigError unless the target has the kind, the rows and the elements that the loss needs."""
        target = self.inputs[1]
        shape = target.shape or (0,)
        if target.dtype != self.target_dtype or (shape[0], prod(shape[1:])) != (prediction.shape[0], self.elements):
            what = "labels of 0 or 1" if self.target_dtype == INT else "numbers"
            expected = f"{what}, {prediction.shape[0]} rows of {self.elements}, from source 1"
            raise fault(self, expected, f"{target.dtype}s {target.shape}", self.hint, "srclayers", 1)

    def cuts(self) -> tuple[int | str, ...]:
        return tuple(range(self.output.rank)) if self._same_axes else (0,)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region, region if self._same_axes else (region[0], *self.inputs[1].whole[1:])))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        own = flops.elementwise_flops(size(region))
        return Cost(own, (own,) * (1 + (self.target_dtype == FLOAT)))

    @property
    def _same_axes(self) -> bool:
        """True if prediction and target have one shape."""
        return self.inputs[0].shape == self.inputs[1].shape
