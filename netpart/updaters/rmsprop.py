"""RMSProp (Tieleman and Hinton, Coursera lecture 6.5, 2012)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array
from netpart.kernels.updates import Formula
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.base import Step, Updater, average, root
from netpart.updaters.checks import fraction, positive, present


class RMSProp(Updater):
    """h <- rho h + (1 - rho) g²; w <- w - lr g / sqrt(h + delta)."""

    types = ("kRMSProp",)
    slots = ("square_mean",)
    temporaries = 1

    def __init__(self, conf: UpdaterProto) -> None:
        super().__init__(conf)
        present(conf, "rmsprop_conf", "rmsprop_conf { rho: 0.9 }")
        present(conf.rmsprop_conf, "rmsprop_conf.rho", "rho: 0.9")
        self.rho = fraction(conf.rmsprop_conf.rho, "rmsprop_conf.rho")
        self.delta = positive(conf.delta, "delta", "it keeps the division from 0 / 0")

    @property
    def formula(self) -> Formula:
        return Formula("rmsprop", self.rho)

    def update(self, xp: Any, step: Step, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        (h,), (change,) = state, t
        xp.multiply(g, g, out=change)
        average(xp, h, self.rho, change, change)
        xp.divide(g, root(xp, h, self.delta, change), out=change)
        xp.multiply(change, step.lr, out=change)
        xp.subtract(w, change, out=w)
