"""Nesterov's accelerated gradient (Sutskever et al., ICML 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array
from netpart.kernels.updates import UpdateFormula
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.base import Updater, UpdateStep
from netpart.updaters.checks import check_fraction


class Nesterov(Updater):
    """p ← m·h; h ← p + lr·g; w ← w − ((1 + m)·h − p)."""

    slots = ("momentum",)
    temporaries = 2

    def __init__(self, conf: UpdaterProto) -> None:
        super().__init__(conf)
        self.momentum = check_fraction(conf.momentum, "momentum")

    @property
    def formula(self) -> UpdateFormula:
        return UpdateFormula("nesterov", self.momentum)

    def update(self, xp: Any, step: UpdateStep, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        (h,), (previous, change) = state, t
        xp.multiply(h, self.momentum, out=previous)
        xp.multiply(g, step.lr, out=change)
        xp.add(previous, change, out=h)
        xp.multiply(h, 1 + self.momentum, out=change)
        xp.subtract(change, previous, out=change)
        xp.subtract(w, change, out=w)
