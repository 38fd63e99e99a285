"""AdamW (Loshchilov and Hutter, arXiv:1711.05101, algorithm 2): decay apart from the gradient, and bias correction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array
from netpart.kernels.updates import Formula
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.base import Step, Updater, average, corrected
from netpart.updaters.checks import fraction, positive


class AdamW(Updater):
    """m, v as Adam's, divided by 1 - beta1^t and 1 - beta2^t; w <- w - lr decay w - lr m / (sqrt(v) + delta).

    As in PyTorch the decay is multiplied by the learning rate, and delta stands outside of the root.
    """

    types = ("kAdamW",)
    slots = ("mean", "square_mean")
    temporaries = 1
    decoupled = True

    def __init__(self, conf: UpdaterProto) -> None:
        super().__init__(conf)
        self.beta1 = fraction(conf.adamw_conf.beta1, "adamw_conf.beta1")
        self.beta2 = fraction(conf.adamw_conf.beta2, "adamw_conf.beta2")
        self.delta = positive(conf.delta, "delta", "it keeps the division from 0 / 0")

    @property
    def formula(self) -> Formula:
        return Formula("adamw", self.beta1, self.beta2)

    def factors(self, step: Step) -> tuple[float, float]:
        c, lr = corrected(step, self.beta1, self.beta2)
        return lr, c**0.5 * self.delta

    def update(self, xp: Any, step: Step, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        (m, v), (change,) = state, t
        lr, delta = self.factors(step)
        average(xp, m, self.beta1, g, change)
        xp.multiply(g, g, out=change)
        average(xp, v, self.beta2, change, change)
        xp.sqrt(v, out=change)
        xp.add(change, delta, out=change)
        xp.divide(m, change, out=change)
        xp.multiply(change, lr, out=change)
        xp.subtract(w, change, out=w)
