"""AdaDelta (Zeiler, arXiv:1212.5701, algorithm 1), multiplied by a learning rate as in SINGA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array
from netpart.kernels.updates import UpdateFormula
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.base import Updater, UpdateStep
from netpart.updaters.checks import check_fraction, check_positive
from netpart.updaters.moments import update_average, write_root


class AdaDelta(Updater):
    """h ← ρ·h + (1 − ρ)·g²; s = g·√(u + delta) / √(h + delta); u ← ρ·u + (1 − ρ)·s²; w ← w − lr·s."""

    slots = ("square_mean", "update_square_mean")
    temporaries = 2

    def __init__(self, conf: UpdaterProto) -> None:
        super().__init__(conf)
        self.rho = check_fraction(conf.adadelta_conf.rho, "adadelta_conf.rho")
        self.delta = check_positive(conf.delta, "delta", "with 0 every update would be 0")

    @property
    def formula(self) -> UpdateFormula:
        return UpdateFormula("adadelta", self.rho)

    def update(self, xp: Any, step: UpdateStep, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        (h, u), (s, other) = state, t
        xp.multiply(g, g, out=s)
        update_average(xp, h, self.rho, s, s)
        # u still holds the updates up to the previous step: the new one is known only after the division by √h.
        xp.multiply(g, write_root(xp, u, self.delta, s), out=s)
        xp.divide(s, write_root(xp, h, self.delta, other), out=s)
        xp.multiply(s, s, out=other)
        update_average(xp, u, self.rho, other, other)
        xp.multiply(s, step.lr, out=s)
        xp.subtract(w, s, out=w)
