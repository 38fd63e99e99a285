"""AdamW (Loshchilov and Hutter, arXiv:1711.05101, algorithm 2): decoupled weight decay, and bias correction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array
from netpart.kernels.updates import UpdateFormula
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.base import Updater, UpdateStep
from netpart.updaters.checks import check_fraction, check_positive
from netpart.updaters.moments import bias_correction, update_average, write_root


class AdamW(Updater):
    """m, v as kAdam, of g without weight decay; w ← w − lr·d·w − lr·m̂ / (√v̂ + delta).

    As in PyTorch, the decay is multiplied by the learning rate, and delta is added outside of the root.
    """

    slots = ("mean", "square_mean")
    temporaries = 1
    decoupled = True
    outside_choices = (True,)

    def __init__(self, conf: UpdaterProto) -> None:
        super().__init__(conf)
        self.beta1 = check_fraction(conf.adamw_conf.beta1, "adamw_conf.beta1")
        self.beta2 = check_fraction(conf.adamw_conf.beta2, "adamw_conf.beta2")
        self.delta = check_positive(conf.delta, "delta", "it keeps the division from 0 / 0")

    @property
    def formula(self) -> UpdateFormula:
        return UpdateFormula("adamw", self.beta1, self.beta2)

    def factors(self, step: UpdateStep) -> tuple[float, float]:
        # delta is outside of the root, which is multiplied by 1 / √c: √(v / c) + delta = (√v + √c delta) / √c.
        c, lr = bias_correction(step, self.beta1, self.beta2)
        return lr, c**0.5 * self.delta

    def update(self, xp: Any, step: UpdateStep, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        (m, v), (change,) = state, t
        lr, delta = self.factors(step)
        update_average(xp, m, self.beta1, g, change)
        xp.multiply(g, g, out=change)
        update_average(xp, v, self.beta2, change, change)
        xp.divide(m, write_root(xp, v, delta, change, self.outside), out=change)
        xp.multiply(change, lr, out=change)
        xp.subtract(w, change, out=w)
