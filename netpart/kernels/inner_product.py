"""Inner product: x keeps its feature axes F, so that cuts on them are boxes; the kernels flatten it."""

from __future__ import annotations

from netpart.kernels.activation import Activation, Kind
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.verbs import NOTHING, as_matrix


class InnerProduct(Activation):
    """x (B, *F), w (O, *F) or, with ``transpose``, (*F, O), b (O,), y (B, O)."""

    def inner_product(
        self, x: Array, w: Array, b: Array | None, y: Array, transpose: bool, activation: Kind | None = None,
        add: bool = False,
    ) -> Op:  # fmt: skip
        """y = activation(x wᵀ + b), or with ``add`` activation(y + x wᵀ + b)."""
        if not y.size:
            return NOTHING
        xp = self.xp
        x_bf = as_matrix(x)
        w_fo = features_by_outputs(w, transpose)

        def run(part: Array) -> None:
            made = part if add else y
            xp.matmul(x_bf, w_fo, out=made)
            if b is not None:
                xp.add(made, b, out=made)
            if add:
                xp.add(y, made, out=y)

        found = Op(run, [(y.shape if add else (0,), self.dtype)])
        return chain_ops(found, *([self.activation(activation, y, y)] if activation else []))

    def inner_product_data(self, dy: Array, w: Array, dx: Array, transpose: bool, add: bool = False) -> Op:
        """Overwrite dx = dy w, or add it."""
        if not dx.size:
            return NOTHING
        xp = self.xp
        dx_bf = as_matrix(dx)
        w_of = features_by_outputs(w, transpose).T

        def run(part: Array) -> None:
            xp.matmul(dy, w_of, out=part if add else dx_bf)
            if add:
                xp.add(dx_bf, part, out=dx_bf)

        return Op(run, [(dx_bf.shape if add else (0,), self.dtype)])

    def inner_product_weights(self, x: Array, dy: Array, dw: Array, db: Array | None, transpose: bool) -> Op:
        """Overwrite dw = dyᵀ x (transposed: xᵀ dy) and db = Σ_rows dy."""
        xp, x_bf = self.xp, as_matrix(x)
        left, right, target = (x_bf.T, dy, as_matrix(dw, dw.ndim - 1)) if transpose else (dy.T, x_bf, as_matrix(dw))

        def run() -> None:
            xp.matmul(left, right, out=target)
            if db is not None:
                xp.sum(dy, axis=0, out=db)

        return Op(run)


def features_by_outputs(w: Array, transpose: bool) -> Array:
    """A view of w with a row for each feature."""
    return as_matrix(w, w.ndim - 1) if transpose else as_matrix(w).T
