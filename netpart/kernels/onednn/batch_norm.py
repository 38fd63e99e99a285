"""Batch normalisation: one primitive forward and one backward, by the part's own moments or by those of all parts.

not cut     batch_norm                    x ──▶ y, mean, variance        (x, dy) ──▶ dx, dw, db
cut         moments                       x ──▶ mean, variance of the part
            moment_norm                   (x, mean, variance) ──▶ y      (x, dy) ──▶ dx of y alone, dw, db
            moments_gradient                                             dx = x · A + B, channel by channel
"""

from __future__ import annotations

from collections.abc import Callable

from netpart.kernels import batch_norm as reference
from netpart.kernels.arguments import (
    BatchNormaliseArguments,
    BatchNormArguments,
    BatchNormGradientArguments,
    MomentNormArguments,
    MomentNormGradientArguments,
)
from netpart.kernels.onednn.affine import add_affine
from netpart.kernels.onednn.calls import Calls, OneDnnVerbs
from netpart.kernels.onednn.channels import GIVEN, OWN, add_batch_norm, add_batch_norm_gradient
from netpart.kernels.onednn.library import OneDnnRefused
from netpart.kernels.onednn.widening import widened_op
from netpart.kernels.op import Array, Box, Op


class BatchNorm(reference.BatchNorm, OneDnnVerbs):
    """The verbs of the reference.

    oneDNN does forward and backward or neither, decided by shapes alone: backward reads what forward kept.
    """

    def batch_norm(self, a: BatchNormArguments) -> Op:
        """y, mean, variance and m."""

        def describe(calls: Calls) -> None:
            _check_whole_input(a.x, a.own)
            add_batch_norm(calls, a.x, a.y, a.mean, a.variance, a.w, a.b, a.epsilon, OWN, a.activation)
            calls.then(self._moments(a.s, a.m, a.mean, a.variance, 1.0))

        return self.attempt(describe, super().batch_norm, a)

    def batch_norm_gradient(self, a: BatchNormGradientArguments) -> Op:
        """Overwrite dw, db and dx."""

        def describe(calls: Calls) -> None:
            _check_whole_input(a.x, a.own)
            sums = self._sums(a.mean, a.dw, a.db)
            add_batch_norm_gradient(calls, a.x, a.dy, a.dx, a.mean, a.variance, a.w, sums, a.epsilon, OWN)

        if a.through:
            return widened_op(super().batch_norm_gradient, (a,))
        return self.attempt(describe, super().batch_norm_gradient, a)

    def batch_normalise(self, a: BatchNormaliseArguments) -> Op:
        """y = activation(unit · w + b) and rstd, as the reference does."""
        return widened_op(super().batch_normalise, (a,))

    def moments(self, x: Array, s: Array, m: Array, count: int) -> Op:
        """m = Σ (x - s), Σ (x - s)² over all axes except the channels, divided by ``count``."""

        def describe(calls: Calls) -> None:
            mean = self.xp.empty_like(s)
            variance = self.xp.empty_like(s)
            add_batch_norm(calls, x, None, mean, variance, None, None, 1.0, OWN)
            calls.then(self._moments(s, m, mean, variance, x[:, 0].size / count))

        return self.attempt(describe, super().moments, x, s, m, count)

    def moments_gradient(self, x: Array, s: Array, dm: Array, dx: Array, count: int, add: bool = False) -> Op:
        """Overwrite dx = (dm0 + 2 (x - s) dm1) / count, or add it."""
        xp = self.xp
        first = dm[0, :, 0]
        second = dm[0, :, 1]

        def describe(calls: Calls) -> None:
            factor = xp.empty_like(s)
            shift = xp.empty_like(s)

            def prepare() -> None:
                xp.multiply(second, 2 / count, out=factor)
                xp.multiply(factor, s, out=shift)
                xp.multiply(shift, -count, out=shift)
                xp.add(shift, first, out=shift)
                xp.divide(shift, count, out=shift)

            calls.then(prepare)
            add_affine(calls, x, factor, shift, dx, add)

        return self.attempt(describe, super().moments_gradient, x, s, dm, dx, count, add)

    def moment_norm(self, a: MomentNormArguments) -> Op:
        """mean, variance, rstd and y."""
        xp = self.xp
        rstd = a.rstd
        statistics = self.statistics(a.m, a.s, a.mean, a.variance).run

        def prepare() -> None:
            statistics()
            xp.add(a.variance, a.epsilon, out=rstd)
            xp.sqrt(rstd, out=rstd)
            xp.divide(1, rstd, out=rstd)

        def describe(calls: Calls) -> None:
            calls.then(prepare)
            add_batch_norm(calls, a.x, a.y, a.mean, a.variance, a.w, a.b, a.epsilon, GIVEN, a.activation)

        return self.attempt(describe, super().moment_norm, a)

    def moment_norm_gradient(self, a: MomentNormGradientArguments) -> Op:
        """Overwrite dw, db, dm and dx; dx is the part of the gradient that does not pass through the moments."""

        def describe(calls: Calls) -> None:
            sums = self._sums(a.mean, a.dw, a.db)
            add_batch_norm_gradient(calls, a.x, a.dy, a.dx, a.mean, a.variance, a.w, sums, a.epsilon, GIVEN)
            if a.dm is not None:
                calls.then(self._moments_gradient(a.m, a.variance, a.w, a.rstd, a.dm, *sums))

        return self.attempt(describe, super().moment_norm_gradient, a)

    def _sums(self, like: Array, *gradients: Array | None) -> list[Array]:
        """The arrays for the gradients of scale and shift; new ones for unwanted gradients, as oneDNN writes both."""
        return [self.xp.empty_like(like) if gradient is None else gradient for gradient in gradients]

    def _moments(self, s: Array, m: Array, mean: Array, variance: Array, share: float) -> Callable[[], None]:
        """The function that writes m0 = share · (mean - s), m1 = share · (variance + (mean - s)²)."""
        xp = self.xp
        first = m[0, :, 0]
        second = m[0, :, 1]

        def run() -> None:
            xp.subtract(mean, s, out=first)
            xp.multiply(first, first, out=second)
            xp.add(second, variance, out=second)
            xp.multiply(m, share, out=m)

        return run

    def _moments_gradient(
        self, m: Array, variance: Array, w: Array | None, rstd: Array, dm: Array, dw: Array, db: Array
    ) -> Callable[[], None]:
        """The function that writes dm0 = m0 · rstd² · w · dw - rstd · w · db and dm1 = -rstd² / 2 · w · dw.

        Where the variance is 0, having been clipped, dw counts as 0.
        """
        xp = self.xp
        mean = m[0, :, 0]
        first = dm[0, :, 0]
        second = dm[0, :, 1]
        slope = xp.empty_like(rstd)
        flat = xp.empty(rstd.shape, bool)

        def run() -> None:
            xp.less_equal(variance, 0, out=flat)
            xp.multiply(rstd, 1 if w is None else w, out=slope)
            xp.multiply(db, slope, out=first)
            xp.multiply(slope, rstd, out=slope)
            xp.multiply(slope, dw, out=second)
            xp.copyto(second, 0, where=flat)
            xp.multiply(mean, second, out=slope)
            xp.subtract(slope, first, out=first)
            xp.multiply(second, -0.5, out=second)

        return run


def _check_whole_input(x: Array, own: Box) -> None:
    if x[own].shape != x.shape:
        raise OneDnnRefused(f"oneDNN: expected all of x to be normalised, got {own} of {x.shape}")
