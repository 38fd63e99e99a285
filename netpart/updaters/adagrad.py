"""AdaGrad (Duchi, Hazan, Singer, JMLR 12, 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array
from netpart.kernels.updates import UpdateFormula
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.base import Updater, UpdateStep
from netpart.updaters.checks import check_positive
from netpart.updaters.moments import write_root


class AdaGrad(Updater):
    """h ← h + g²; w ← w − lr·g / √(h + delta).

    With delta_outside_root it divides by √h + delta, as PyTorch does.
    """

    slots = ("square_sum",)
    temporaries = 1
    outside_choices = (False, True)

    def __init__(self, conf: UpdaterProto) -> None:
        super().__init__(conf)
        self.delta = check_positive(conf.delta, "delta", "it keeps the division from 0 / 0")

    @property
    def formula(self) -> UpdateFormula:
        return UpdateFormula("adagrad_outside" if self.outside else "adagrad")

    def update(self, xp: Any, step: UpdateStep, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        (h,), (change,) = state, t
        xp.multiply(g, g, out=change)
        xp.add(h, change, out=h)
        xp.divide(g, write_root(xp, h, self.delta, change, self.outside), out=change)
        xp.multiply(change, step.lr, out=change)
        xp.subtract(w, change, out=w)
