"""Adam (Kingma and Ba, arXiv:1412.6980, algorithm 1) without bias correction, as in SINGA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.base import Updater, average, root
from netpart.updaters.checks import fraction, positive


class Adam(Updater):
    """m <- beta1 m + (1 - beta1) g; v <- beta2 v + (1 - beta2) g²; w <- w - lr m / sqrt(v + delta)."""

    types = ("kAdam",)
    slots = ("mean", "square_mean")
    temporaries = 1

    def __init__(self, conf: UpdaterProto) -> None:
        super().__init__(conf)
        self.beta1 = fraction(conf.adam_conf.beta1, "adam_conf.beta1")
        self.beta2 = fraction(conf.adam_conf.beta2, "adam_conf.beta2")
        self.delta = positive(conf.delta, "delta", "it keeps the division from 0 / 0")

    def update(self, xp: Any, lr: float, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        (m, v), (step,) = state, t
        average(xp, m, self.beta1, g, step)
        xp.multiply(g, g, out=step)
        average(xp, v, self.beta2, step, step)
        xp.divide(m, root(xp, v, self.delta, step), out=step)
        xp.multiply(step, lr, out=step)
        xp.subtract(w, step, out=w)
