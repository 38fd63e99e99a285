"""AdaGrad (Duchi, Hazan, Singer, JMLR 12, 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array
from netpart.kernels.updates import Formula
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.base import Step, Updater, root
from netpart.updaters.checks import positive


class AdaGrad(Updater):
    """h <- h + g²; w <- w - lr g / sqrt(h + delta)."""

    types = ("kAdaGrad",)
    slots = ("square_sum",)
    temporaries = 1

    def __init__(self, conf: UpdaterProto) -> None:
        super().__init__(conf)
        self.delta = positive(conf.delta, "delta", "it keeps the division from 0 / 0")

    @property
    def formula(self) -> Formula:
        return Formula("adagrad")

    def update(self, xp: Any, step: Step, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        (h,), (change,) = state, t
        xp.multiply(g, g, out=change)
        xp.add(h, change, out=h)
        xp.divide(g, root(xp, h, self.delta, change), out=change)
        xp.multiply(change, step.lr, out=change)
        xp.subtract(w, change, out=w)
