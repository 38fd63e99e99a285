"""Adam (Kingma and Ba, arXiv:1412.6980, algorithm 1), by default without bias correction, as in SINGA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array
from netpart.kernels.updates import UpdateFormula
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.base import Updater, UpdateStep
from netpart.updaters.checks import check_fraction, check_positive
from netpart.updaters.moments import bias_correction, update_average, write_root


class Adam(Updater):
    """m ← β₁·m + (1 − β₁)·g; v ← β₂·v + (1 − β₂)·g²; w ← w − lr·m / √(v + delta).

    With bias correction, the update of w divides m by 1 - beta1^t and v by 1 - beta2^t, t = 1, 2, ... With
    delta_outside_root it divides by √v + delta, as PyTorch does.
    """

    slots = ("mean", "square_mean")
    temporaries = 1
    outside_choices = (False, True)

    def __init__(self, conf: UpdaterProto) -> None:
        super().__init__(conf)
        self.beta1 = check_fraction(conf.adam_conf.beta1, "adam_conf.beta1")
        self.beta2 = check_fraction(conf.adam_conf.beta2, "adam_conf.beta2")
        self.corrects = conf.adam_conf.bias_correction
        self.delta = check_positive(conf.delta, "delta", "it keeps the division from 0 / 0")

    @property
    def formula(self) -> UpdateFormula:
        # The kernel of kAdamW differs in the place of delta alone: the decay is in the numbers of a step.
        return UpdateFormula("adamw" if self.outside else "adam", self.beta1, self.beta2)

    def factors(self, step: UpdateStep) -> tuple[float, float]:
        if not self.corrects:
            return super().factors(step)
        # The root is multiplied by 1 / √c: √(v / c + delta) = √(v + c delta) / √c, or if delta is outside of it
        # √(v / c) + delta = (√v + √c delta) / √c.
        c, lr = bias_correction(step, self.beta1, self.beta2)
        return lr, (c**0.5 if self.outside else c) * self.delta

    def update(self, xp: Any, step: UpdateStep, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        (m, v), (change,) = state, t
        lr, delta = self.factors(step)
        update_average(xp, m, self.beta1, g, change)
        xp.multiply(g, g, out=change)
        update_average(xp, v, self.beta2, change, change)
        xp.divide(m, write_root(xp, v, delta, change, self.outside), out=change)
        xp.multiply(change, lr, out=change)
        xp.subtract(w, change, out=w)
