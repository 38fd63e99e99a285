"""Batch normalisation: each pass over a tensor reads and writes it once.

forward     sums of x ──▶ m ──▶ statistics, y                   two reads of x, one write
backward    sums of dy, dy · unit ──▶ dw, db, dm ──▶ dx         two reads of x and dy, one write
"""

from __future__ import annotations

from netpart.kernels import batch_norm as reference
from netpart.kernels.arguments import (
    BatchNormaliseArguments,
    BatchNormArguments,
    BatchNormGradientArguments,
    MomentNormArguments,
    MomentNormGradientArguments,
)
from netpart.kernels.cuda.column_kernels import ColumnTile, ColumnVerbs, count_rows, with_places
from netpart.kernels.cuda.launch import KernelLaunch
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.verbs import NOTHING

FILE = "batch_norm.cu"
Relu = tuple[Array | None, Array | None, bool]
"""(mean, b, True) if dy is the gradient of a relu of y, which the kernels then apply as well; else PLAIN."""
PLAIN: Relu = (None, None, False)


class BatchNorm(reference.BatchNorm, ColumnVerbs):
    """The verbs of the reference. Sums are in float64."""

    def batch_norm(self, a: BatchNormArguments) -> Op:
        """Write m, mean, variance, rstd and y."""
        return chain_ops(
            self.moments(a.x, a.s, a.m, max(1, count_rows(a.x))), self._normalise(a.after_moments(), a.m, a.s)
        )

    def batch_norm_gradient(self, a: BatchNormGradientArguments) -> Op:
        """Overwrite dw, db and dx."""
        # The kernel of dx reads x and dy together, element by element.
        if a.x.shape != a.dy.shape or a.dx is None:
            return super().batch_norm_gradient(a)
        relu = a.mean, a.b, bool(a.through)
        count = max(1, count_rows(a.x))
        return chain_ops(
            self._gradient_sums(a, relu),
            self.launches(self._gradient(a.x, a.dy, a.dx, a.s, a.dm, a.rstd, a.w, count, False, relu)),
        )

    def batch_norm_relu(self, x: Array, mean: Array, rstd: Array, w: Array | None, b: Array | None, dy: Array) -> Op:
        """dy = 0 where y = unit · w + b is not above 0."""
        tile = ColumnTile.of(count_rows(dy), dy.shape[1])
        return self.launches(
            self.along(FILE, "relu", tile, *with_places(x), *with_places(dy), mean, rstd, w, b, tile.value)
        )

    def moments(self, x: Array, s: Array, m: Array, count: int) -> Op:
        """m = Σ (x - s), Σ (x - s)² over all axes except the channels, divided by ``count``."""
        tile = ColumnTile.of(count_rows(x), x.shape[1])
        return self.sums(FILE, ("moments", (*with_places(x), s)), ("moments_end", (*with_places(m), count)), 2, tile)

    def moments_gradient(self, x: Array, s: Array, dm: Array, dx: Array, count: int, add: bool = False) -> Op:
        """Overwrite dx = (dm0 + 2 (x - s) dm1) / count, or add it."""
        return self.launches(self._gradient(x, None, dx, s, dm, None, None, count, add))

    def moments_share(self, m: Array, factor: float, dmean: Array | None, dvariance: Array | None) -> Op:
        """Both moments times ``factor``."""
        if dmean is None and dvariance is None:
            return NOTHING
        channels = m.shape[1]
        return self.launch(FILE, "share", channels, *with_places(m), float(factor), dmean, dvariance, channels)

    def statistics(self, m: Array, s: Array, mean: Array, variance: Array) -> Op:
        """mean = s + m0, variance = m1 - m0², at least 0."""
        return self.launch(FILE, "statistics", len(s), *with_places(m), s, mean, variance, len(s))

    def moment_norm(self, a: MomentNormArguments) -> Op:
        """Write mean, variance, rstd and y."""
        return self._normalise(a, a.m, a.s)

    def batch_normalise(self, a: BatchNormaliseArguments) -> Op:
        """y = activation(unit · w + b) and rstd = 1 / sqrt(variance + epsilon), which is kept for the gradient."""
        return self._normalise(a)

    def batch_norm_parameters(
        self, x: Array, mean: Array, rstd: Array, dy: Array, dw: Array | None, db: Array | None
    ) -> Op:
        """Overwrite dw = Σ dy · unit and db = Σ dy."""
        return self._gradient_sums(
            MomentNormGradientArguments(x, None, mean, None, None, rstd, dy, None, dw, db, None, 0.0)
        )

    def batch_normalise_moments(
        self, x: Array, m: Array, mean: Array, variance: Array, rstd: Array, w: Array | None, dy: Array, dm: Array
    ) -> Op:
        """Overwrite dm."""
        return self._gradient_sums(
            MomentNormGradientArguments(x, m, mean, variance, w, rstd, dy, dm, None, None, None, 0.0)
        )

    def moment_norm_gradient(self, a: MomentNormGradientArguments) -> Op:
        """Overwrite dw, db, dm and dx; dx is the part of the gradient that does not pass through the moments."""
        sums = self._gradient_sums(a)
        return sums if a.dx is None else chain_ops(sums, self.batch_normalise_gradient(a.rstd, a.w, a.dy, a.dx))

    def batch_normalise_gradient(self, rstd: Array, w: Array | None, dy: Array, dx: Array, add: bool = False) -> Op:
        """Overwrite dx = dy · w · rstd, or add it."""
        return self.launches(self._gradient(None, dy, dx, None, None, rstd, w, 1, add))

    def _normalise(
        self, a: MomentNormArguments | BatchNormaliseArguments, m: Array | None = None, s: Array | None = None
    ) -> Op:
        """Write rstd and y, and mean and variance if m and s are given."""
        tile = ColumnTile.of(count_rows(a.y), a.y.shape[1])
        tensors = (*with_places(a.x), *with_places(a.y))
        affine = (*with_places(m), s, a.mean, a.variance, a.w, a.b, a.rstd)
        name = f"normalise_{a.activation or 'none'}"
        return self.launches(self.along(FILE, name, tile, *tensors, *affine, float(a.epsilon), tile.value))

    def _gradient_sums(self, a: MomentNormGradientArguments | BatchNormGradientArguments, relu: Relu = PLAIN) -> Op:
        """Overwrite those of dm, dw and db that are not None."""
        if a.dm is None and a.dw is None and a.db is None:
            return NOTHING
        tile = ColumnTile.of(count_rows(a.dy), a.dy.shape[1])
        tensors = *with_places(a.x), *with_places(a.dy), a.mean, a.rstd, a.w, *relu[1:]
        wanted = tile.rows, *with_places(a.m), a.variance, a.rstd, a.w, *with_places(a.dm), a.dw, a.db
        return self.sums(FILE, ("gradient_sums", tensors), ("gradient_end", wanted), 2, tile)

    def _gradient(
        self, x: Array | None, dy: Array | None, dx: Array, s: Array | None, dm: Array | None, rstd: Array | None,
        w: Array | None, count: int, add: bool, relu: Relu = PLAIN,
    ) -> KernelLaunch | None:  # fmt: skip
        """The launch of dx: the part through the moments if dm is given, plus the part that bypasses them if dy is."""
        if not dx.size:
            return None
        tile = ColumnTile.of(count_rows(dx), dx.shape[1])
        tensors = *with_places(x), *with_places(dy), *with_places(dx), s, *with_places(dm)
        return self.along(FILE, "gradient", tile, *tensors, rstd, w, *relu, count, add, tile.value)
