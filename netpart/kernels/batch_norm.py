"""Batch normalisation in pieces: from the moments of each channel to y, and the gradients of both steps."""

from __future__ import annotations

from functools import partial

import numpy as np

from netpart.kernels.activation import Activation
from netpart.kernels.arguments import (
    BatchNormaliseArguments,
    BatchNormArguments,
    BatchNormGradientArguments,
    MomentNormArguments,
    MomentNormGradientArguments,
)
from netpart.kernels.moments import Moments, broadcast_channels, non_channel_axes
from netpart.kernels.normalisation import Normalisation
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.verbs import NOTHING


class BatchNorm(Moments, Normalisation, Activation):
    """x, y, dx, dy (B, C, ...), perhaps views; m, dm (1, C, 2); s, mean, variance, rstd, w, b, dw, db (C,).

    w, b and the gradients may be None. unit = (x - mean) · rstd is not kept: the backward pass recomputes it, because
    keeping it would take as much memory as x.
    """

    def batch_norm(self, a: BatchNormArguments) -> Op:
        """Compute the moments of x and normalise x[own], where the moments are those of x alone.

        The activation, one that may overwrite its input, is computed on y in place; another verb computes its gradient.
        Of the outputs, m also feeds the running statistics; the others are kept for ``batch_norm_gradient``.
        """
        return chain_ops(
            self.moments(a.x, a.s, a.m, _channel_elements(a.x)),
            self.moment_norm(a.after_moments()),
        )

    def batch_norm_gradient(self, a: BatchNormGradientArguments) -> Op:
        """Overwrite dw, db and dx of ``batch_norm``; dm is scratch for the gradient of its moments.

        With ``through`` "relu", dy is the gradient of the relu of y, and may be overwritten; b is read only then.
        """
        if a.through:
            # The mask of the relu has to be in dy before the sums over dy are taken.
            rest = self.batch_norm_gradient(a._replace(b=None, through=None))
            return chain_ops(self.batch_norm_relu(a.x[a.own], a.mean, a.rstd, a.w, a.b, a.dy), rest)
        upper = self.moment_norm_gradient(a.before_moments())
        if a.dx is None:
            return upper
        # moments_gradient covers all of x and overwrites; the part that bypasses the moments covers own and adds.
        return chain_ops(
            upper,
            self.moments_gradient(a.x, a.s, a.dm, a.dx, _channel_elements(a.x)),
            self.batch_normalise_gradient(a.rstd, a.w, a.dy, a.dx[a.own], add=True),
        )

    def batch_norm_relu(self, x: Array, mean: Array, rstd: Array, w: Array | None, b: Array | None, dy: Array) -> Op:
        """dy = 0 where y = unit · w + b is not above 0."""
        if not dy.size:
            return NOTHING
        xp = self.xp
        (w_c, b_c) = (None if a is None else broadcast_channels(a, x.ndim) for a in (w, b))

        def run(y: Array, above: Array) -> None:
            self._unit(x, mean, rstd, y)
            if w_c is not None:
                xp.multiply(y, w_c, out=y)
            if b_c is not None:
                xp.add(y, b_c, out=y)
            xp.greater(y, 0, out=above)
            xp.multiply(dy, above, out=dy)

        return Op(run, [(x.shape, self.dtype), (x.shape, np.bool_)])

    def moment_norm(self, a: MomentNormArguments) -> Op:
        """Compute mean, variance and y from given moments; rstd is read by ``moment_norm_gradient`` alone."""
        return chain_ops(
            self.statistics(a.m, a.s, a.mean, a.variance),
            self.batch_normalise(
                BatchNormaliseArguments(a.x, a.mean, a.variance, a.w, a.b, a.y, a.rstd, a.epsilon, a.activation)
            ),
        )

    def moment_norm_gradient(self, a: MomentNormGradientArguments) -> Op:
        """Overwrite dw, db, dm and dx; dx is the part of the gradient that does not pass through the moments."""
        ops = [self.batch_norm_parameters(a.x, a.mean, a.rstd, a.dy, a.dw, a.db)]
        if a.dm is not None:
            ops.append(self.batch_normalise_moments(a.x, a.m, a.mean, a.variance, a.rstd, a.w, a.dy, a.dm))
        if a.dx is not None:
            ops.append(self.batch_normalise_gradient(a.rstd, a.w, a.dy, a.dx))
        return chain_ops(*ops)

    def batch_norm_parameters(
        self, x: Array, mean: Array, rstd: Array, dy: Array, dw: Array | None, db: Array | None
    ) -> Op:
        """Overwrite dw = Σ dy · unit and db = Σ dy."""
        found = [d for d in (dw, db) if d is not None]
        if not found:
            return NOTHING
        if not dy.size:
            return chain_ops(*(Op(partial(d.fill, 0)) for d in found))
        xp = self.xp
        axes = non_channel_axes(dy)

        def run(product: Array) -> None:
            if dw is not None:
                self._unit(x, mean, rstd, product)
                xp.multiply(product, dy, out=product)
                xp.sum(product, axis=axes, keepdims=True, out=broadcast_channels(dw, dy.ndim))
            if db is not None:
                xp.sum(dy, axis=axes, keepdims=True, out=broadcast_channels(db, dy.ndim))

        return Op(run, [(dy.shape, self.dtype)])

    def _unit(self, x: Array, mean: Array, rstd: Array, out: Array) -> None:
        """Write (x - mean) · rstd."""
        self.xp.subtract(x, broadcast_channels(mean, x.ndim), out=out)
        self.xp.multiply(out, broadcast_channels(rstd, x.ndim), out=out)

    def batch_normalise(self, a: BatchNormaliseArguments) -> Op:
        """y = activation(unit · w + b) and rstd = 1 / sqrt(variance + epsilon), which is kept for the gradient."""
        if not a.y.size:
            return NOTHING
        xp = self.xp
        y = a.y
        rstd = a.rstd

        def run() -> None:
            xp.add(a.variance, a.epsilon, out=rstd)
            xp.sqrt(rstd, out=rstd)
            xp.divide(1, rstd, out=rstd)
            self._unit(a.x, a.mean, rstd, y)
            if a.w is not None:
                xp.multiply(y, broadcast_channels(a.w, y.ndim), out=y)
            if a.b is not None:
                xp.add(y, broadcast_channels(a.b, y.ndim), out=y)

        return Op(run) if a.activation is None else chain_ops(Op(run), self.activation(a.activation, y, y))

    def batch_normalise_gradient(self, rstd: Array, w: Array | None, dy: Array, dx: Array, add: bool = False) -> Op:
        """Overwrite dx = dy · w · rstd, or add it: the part of the gradient that bypasses the moments."""
        if not dy.size:
            return NOTHING
        xp = self.xp

        def run(slope: Array, part: Array) -> None:
            xp.multiply(rstd, 1 if w is None else w, out=slope)
            target = part if add else dx
            xp.multiply(dy, broadcast_channels(slope, dy.ndim), out=target)
            if add:
                xp.add(dx, part, out=dx)

        return Op(run, [(rstd.shape, self.dtype), (dy.shape if add else (0,), self.dtype)])

    def batch_normalise_moments(
        self, x: Array, m: Array, mean: Array, variance: Array, rstd: Array, w: Array | None, dy: Array, dm: Array
    ) -> Op:
        """Overwrite dm: dm0 = m0 · rstd² · Σ g·unit - rstd · Σ g, dm1 = -rstd² / 2 · Σ g·unit, with g = dy · w.

        Where the variance was clipped to 0 its derivative is 0: Σ g·unit counts as 0.
        """
        if not dy.size:
            return Op(partial(dm.fill, 0))
        xp = self.xp
        axes = non_channel_axes(dy)
        first = dm[0, :, 0]
        second = dm[0, :, 1]

        def run(product: Array, scale: Array, flat: Array) -> None:
            self._unit(x, mean, rstd, product)
            xp.multiply(product, dy, out=product)
            xp.sum(dy, axis=axes, keepdims=True, out=broadcast_channels(first, dy.ndim))
            xp.sum(product, axis=axes, keepdims=True, out=broadcast_channels(second, dy.ndim))
            xp.less_equal(variance, 0, out=flat)
            xp.copyto(second, 0, where=flat)
            # dm itself holds both sums until the last lines, so that no further temporaries are needed.
            xp.multiply(rstd, 1 if w is None else w, out=scale)
            xp.multiply(first, scale, out=first)
            xp.multiply(scale, rstd, out=scale)
            xp.multiply(second, scale, out=second)
            xp.multiply(m[0, :, 0], second, out=scale)
            xp.subtract(scale, first, out=first)
            xp.multiply(second, -0.5, out=second)

        return Op(run, [(dy.shape, self.dtype), (rstd.shape, self.dtype), (rstd.shape, bool)])


def _channel_elements(x: Array) -> int:
    """The number of elements of a channel, at least 1."""
    return max(1, int(x[:, :1].size))
