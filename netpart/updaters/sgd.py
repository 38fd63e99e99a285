"""Stochastic gradient descent, with optional heavy-ball momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array
from netpart.kernels.updates import UpdateFormula
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.base import Updater, UpdateStep
from netpart.updaters.checks import check_fraction


class SGD(Updater):
    """w ← w − lr·g, or with momentum m: h ← m·h − lr·g, w ← w + h. Without momentum there is no state."""

    slots: tuple[str, ...] = ("momentum",)
    temporaries = 1

    def __init__(self, conf: UpdaterProto) -> None:
        super().__init__(conf)
        self.momentum = check_fraction(conf.momentum, "momentum")
        # Without momentum the state would only repeat the last change: no array is allocated or saved for it.
        self.slots = SGD.slots if self.momentum > 0 else ()

    @property
    def formula(self) -> UpdateFormula:
        return UpdateFormula("momentum" if self.slots else "sgd", self.momentum)

    def update(self, xp: Any, step: UpdateStep, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        xp.multiply(g, step.lr, out=t[0])
        if not state:
            xp.subtract(w, t[0], out=w)
            return
        (h,) = state
        xp.multiply(h, self.momentum, out=h)
        xp.subtract(h, t[0], out=h)
        xp.add(w, h, out=w)
