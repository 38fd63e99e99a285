"""AdaMax (Kingma and Ba, arXiv:1412.6980, algorithm 2) without bias correction, as in SINGA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array
from netpart.kernels.updates import UpdateFormula
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.base import Updater, UpdateStep
from netpart.updaters.checks import check_fraction, check_positive
from netpart.updaters.moments import update_average


class AdamMax(Updater):
    """m as kAdam; u ← max(β₂·u, abs(g)) + delta; w ← w − lr·m / u."""

    slots = ("mean", "largest")
    temporaries = 1

    def __init__(self, conf: UpdaterProto) -> None:
        super().__init__(conf)
        self.beta1 = check_fraction(conf.adammax_conf.beta1, "adammax_conf.beta1")
        self.beta2 = check_fraction(conf.adammax_conf.beta2, "adammax_conf.beta2")
        self.delta = check_positive(conf.delta, "delta", "it keeps the division from 0 / 0")

    @property
    def formula(self) -> UpdateFormula:
        return UpdateFormula("adammax", self.beta1, self.beta2)

    def update(self, xp: Any, step: UpdateStep, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        (m, u), (change,) = state, t
        update_average(xp, m, self.beta1, g, change)
        xp.abs(g, out=change)
        xp.multiply(u, self.beta2, out=u)
        xp.maximum(u, change, out=u)
        xp.add(u, self.delta, out=u)  # into the state, not only the divisor: the next maximum includes it
        xp.divide(m, u, out=change)
        xp.multiply(change, step.lr, out=change)
        xp.subtract(w, change, out=w)
