"""The mean or the largest element of everything behind the channels."""

from __future__ import annotations

from netpart.kernels.op import Array, Op
from netpart.kernels.pooling import Method
from netpart.kernels.verbs import NOTHING, Verbs, matrix


class GlobalPooling(Verbs):
    """x (B, C, *S), y (B, C, 1, ...); ``arg`` int64 (B·C,): where the first of the largest elements is."""

    def global_pooling(self, x: Array, y: Array, arg: Array | None, method: Method, area: int) -> Op:
        """AVG: the sum divided by ``area``. MAX: the largest, whose place goes to ``arg``."""
        if not y.size:
            return NOTHING
        xp, x_rs, y_r = self.xp, matrix(x, 2), y.reshape(-1)

        def mean() -> None:
            xp.sum(x_rs, axis=1, out=y_r)
            xp.divide(y_r, area, out=y_r)

        def largest() -> None:
            xp.argmax(x_rs, axis=1, out=arg)
            xp.max(x_rs, axis=1, out=y_r)

        return Op(mean if method == "AVG" else largest)

    def global_pooling_gradient(self, dy: Array, dx: Array, arg: Array | None, method: Method, area: int) -> Op:
        """Overwrites dx."""
        if not dx.size:
            return NOTHING
        xp, dx_rs, dy_r = self.xp, matrix(dx, 2), dy.reshape(-1, 1)
        if method == "AVG":
            return Op(lambda: xp.divide(dy_r, area, out=dx_rs))
        if arg is None:
            raise ValueError("global_pooling_gradient: expected the arg array of the forward pass for MAX, got None")
        places, winners = xp.arange(dx_rs.shape[1]), arg.reshape(-1, 1)

        def run(won: Array) -> None:
            xp.equal(places, winners, out=won)
            xp.multiply(won, dy_r, out=dx_rs)

        return Op(run, [(dx_rs.shape, bool)])
