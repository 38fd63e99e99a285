"""Global pooling: the mean or the maximum over all spatial axes of each channel."""

from __future__ import annotations

from netpart.kernels.op import Array, Op
from netpart.kernels.pooling import Method
from netpart.kernels.verbs import NOTHING, Verbs, flatten_space


class GlobalPooling(Verbs):
    """x (B, C, *S), y (B, C, 1, ...); ``arg`` int64 (B·C,): the position of the first of the largest elements."""

    def global_pooling(self, x: Array, y: Array, arg: Array | None, method: Method, area: int) -> Op:
        """Overwrite y. AVG: the sum divided by ``area``. MAX: the largest element, whose position goes to ``arg``."""
        if not y.size:
            return NOTHING
        xp = self.xp
        x_bcs = flatten_space(x)
        y_bc = y.reshape(y.shape[:2])
        winners = None if arg is None else arg.reshape(y_bc.shape)

        def mean() -> None:
            xp.sum(x_bcs, axis=2, out=y_bc)
            xp.divide(y_bc, area, out=y_bc)

        def largest() -> None:
            xp.argmax(x_bcs, axis=2, out=winners)
            xp.max(x_bcs, axis=2, out=y_bc)

        return Op(mean if method == "AVG" else largest)

    def global_pooling_gradient(self, dy: Array, dx: Array, arg: Array | None, method: Method, area: int) -> Op:
        """Overwrite dx. Raises ValueError for MAX without the ``arg`` of the forward pass."""
        if not dx.size:
            return NOTHING
        xp = self.xp
        dx_bcs = flatten_space(dx)
        dy_bc = dy.reshape(*dy.shape[:2], 1)
        if method == "AVG":
            return Op(lambda: xp.divide(dy_bc, area, out=dx_bcs))
        if arg is None:
            raise ValueError("global_pooling_gradient: expected the arg array of the forward pass for MAX, got None")
        numbers = xp.arange(dx_bcs.shape[2])
        winners = arg.reshape(*dy_bc.shape)

        def run(won: Array) -> None:
            xp.equal(numbers, winners, out=won)
            xp.multiply(won, dy_bc, out=dx_bcs)

        return Op(run, [(dx_bcs.shape, bool)])
