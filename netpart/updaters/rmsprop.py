"""RMSProp (Tieleman and Hinton, Coursera lecture 6.5, 2012)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array
from netpart.kernels.updates import UpdateFormula
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.base import Updater, UpdateStep
from netpart.updaters.checks import check_fraction, check_positive, require_field
from netpart.updaters.moments import update_average, write_root


class RMSProp(Updater):
    """h ← ρ·h + (1 − ρ)·g²; w ← w − lr·g / √(h + delta).

    With delta_outside_root it divides by √h + delta, as PyTorch does.
    """

    slots = ("square_mean",)
    temporaries = 1
    outside_choices = (False, True)

    def __init__(self, conf: UpdaterProto) -> None:
        super().__init__(conf)
        require_field(conf, "rmsprop_conf", "rmsprop_conf { rho: 0.9 }")
        require_field(conf.rmsprop_conf, "rmsprop_conf.rho", "rho: 0.9")
        self.rho = check_fraction(conf.rmsprop_conf.rho, "rmsprop_conf.rho")
        self.delta = check_positive(conf.delta, "delta", "it keeps the division from 0 / 0")

    @property
    def formula(self) -> UpdateFormula:
        return UpdateFormula("rmsprop_outside" if self.outside else "rmsprop", self.rho)

    def update(self, xp: Any, step: UpdateStep, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        (h,), (change,) = state, t
        xp.multiply(g, g, out=change)
        update_average(xp, h, self.rho, change, change)
        xp.divide(g, write_root(xp, h, self.delta, change, self.outside), out=change)
        xp.multiply(change, step.lr, out=change)
        xp.subtract(w, change, out=w)
