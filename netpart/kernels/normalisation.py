"""Normalisation of blocks of features, each by its own mean and variance and independent of other blocks."""

from __future__ import annotations

from netpart.kernels.arguments import NormaliseArguments, NormaliseGradientArguments
from netpart.kernels.combine import stretched_axes, sum_axes
from netpart.kernels.op import Array, Box, Op, chain_ops
from netpart.kernels.verbs import NOTHING, Verbs


class Normalisation(Verbs):
    """x and unit: one shape, contiguous, ``blocks`` blocks of neighbouring elements; y and dy: its box ``own``.

    w, b, dw, db: the rank of y, with extent 1 on the axes that they do not depend on. rstd (blocks, 1).
    """

    def normalise(self, a: NormaliseArguments) -> Op:
        """y = unit · w + b with unit = (x - mean) · rstd, rstd = 1 / sqrt(variance + epsilon), kept for the gradient.

        If ``centred`` is False, the mean counts as 0.
        """
        if not a.x.size:
            return NOTHING
        xp = self.xp
        rstd = a.rstd
        y = a.y
        x_bf = a.x.reshape(a.blocks, -1)
        unit_bf = a.unit.reshape(a.blocks, -1)
        n = a.x.size // a.blocks

        def run(square: Array) -> None:
            # rstd holds the mean, then the variance, and at last itself: no other column is needed.
            if a.centred:
                xp.sum(x_bf, axis=1, keepdims=True, out=rstd)
                xp.divide(rstd, n, out=rstd)
                xp.subtract(x_bf, rstd, out=unit_bf)
            else:
                xp.copyto(unit_bf, x_bf)
            xp.multiply(unit_bf, unit_bf, out=square)
            xp.sum(square, axis=1, keepdims=True, out=rstd)
            xp.divide(rstd, n, out=rstd)
            xp.add(rstd, a.epsilon, out=rstd)
            xp.sqrt(rstd, out=rstd)
            xp.divide(1, rstd, out=rstd)
            xp.multiply(unit_bf, rstd, out=unit_bf)
            xp.copyto(y, a.unit[a.own])
            if a.w is not None:
                xp.multiply(y, a.w, out=y)
            if a.b is not None:
                xp.add(y, a.b, out=y)

        return Op(run, [(x_bf.shape, self.dtype)])

    def normalise_backward(self, a: NormaliseGradientArguments) -> Op:
        """All gradients that are wanted: ``normalise_gradient`` and ``normalise_parameters``."""
        ops = []
        if a.dx is not None:
            ops.append(self.normalise_gradient(a.unit, a.rstd, a.w, a.dy, a.dx, a.own, a.centred, a.add))
        if a.dw is not None or a.db is not None:
            ops.append(self.normalise_parameters(a.unit, a.dy, a.dw, a.db, a.own))
        return chain_ops(*ops)

    def normalise_gradient(
        self, unit: Array, rstd: Array, w: Array | None, dy: Array, dx: Array, own: Box, centred: bool,
        add: bool = False,
    ) -> Op:  # fmt: skip
        """Overwrite dx = rstd · (g - mean g - unit · mean (g · unit)) with g = dy · w, 0 outside ``own``, or add it."""
        if not dx.size:
            return NOTHING
        xp = self.xp
        blocks = len(rstd)
        n = dx.size // len(rstd)
        unit_bf = unit.reshape(blocks, -1)
        target = dx.reshape(blocks, -1)

        def run(g: Array, mean: Array, part: Array) -> None:
            dx_bf = part if add else target
            if dy.shape != g.shape:  # dy covers the box own alone
                g.fill(0)
            xp.multiply(dy, 1 if w is None else w, out=g[own])
            g_bf = g.reshape(blocks, -1)
            xp.multiply(g_bf, unit_bf, out=dx_bf)
            xp.sum(dx_bf, axis=1, keepdims=True, out=mean)
            xp.divide(mean, n, out=mean)
            xp.multiply(unit_bf, mean, out=dx_bf)
            xp.subtract(g_bf, dx_bf, out=dx_bf)
            if centred:
                xp.sum(g_bf, axis=1, keepdims=True, out=mean)
                xp.divide(mean, n, out=mean)
                xp.subtract(dx_bf, mean, out=dx_bf)
            xp.multiply(dx_bf, rstd, out=dx_bf)
            if add:
                xp.add(target, dx_bf, out=target)

        return Op(run, [(dx.shape, self.dtype), (rstd.shape, self.dtype), (target.shape if add else (0,), self.dtype)])

    def normalise_parameters(self, unit: Array, dy: Array, dw: Array | None, db: Array | None, own: Box) -> Op:
        """Overwrite dw = Σ dy · unit and db = Σ dy, over the axes on which they have extent 1."""
        xp, mine = self.xp, unit[own]
        w_axes, b_axes = (() if d is None else stretched_axes(d, dy) for d in (dw, db))

        def run(product: Array) -> None:
            if dw is not None:
                xp.multiply(dy, mine, out=product)
                sum_axes(xp, dw, product, w_axes)
            if db is not None:
                sum_axes(xp, db, dy, b_axes)

        return Op(run, [(dy.shape, self.dtype)])
