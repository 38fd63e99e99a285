"""Batch normalisation: each pass over a tensor reads and writes it once.

forward     sums of x ──▶ m ──▶ statistics, y                   two reads of x, one write
backward    sums of dy, dy · unit ──▶ dw, db, dm ──▶ dx         two reads of x and dy, one write
"""

from __future__ import annotations

from netpart.kernels import batch_norm as reference
from netpart.kernels.activation import Kind
from netpart.kernels.cuda.columns import ColumnTile, ColumnVerbs, count_rows, with_places
from netpart.kernels.cuda.launch import KernelLaunch
from netpart.kernels.normalisation import Box
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.verbs import NOTHING

FILE = "batch_norm.cu"
Relu = tuple[Array | None, Array | None, bool]
"""mean and b of what a relu was taken of, if there was one: its gradient is taken on the way."""
PLAIN: Relu = (None, None, False)


class BatchNorm(reference.BatchNorm, ColumnVerbs):
    """The verbs of the reference. Sums are in float64."""

    def batch_norm(
        self, x: Array, s: Array, m: Array, mean: Array, variance: Array, w: Array | None, b: Array | None, y: Array,
        rstd: Array, own: Box, epsilon: float, activation: Kind | None = None,
    ) -> Op:  # fmt: skip
        """m, mean, variance, rstd and y."""
        moments = self.moments(x, s, m, max(1, count_rows(x)))
        return chain_ops(moments, self._normalise(x[own], y, m, s, mean, variance, w, b, rstd, epsilon, activation))

    def batch_norm_gradient(
        self, x: Array, s: Array, m: Array, mean: Array, variance: Array, w: Array | None, rstd: Array,
        dy: Array, dm: Array, dw: Array | None, db: Array | None, dx: Array | None, own: Box,
        epsilon: float, b: Array | None = None, through: Kind | None = None,
    ) -> Op:  # fmt: skip
        """Overwrites dw, db and dx."""
        if x.shape != dy.shape or dx is None:
            arrays = x, s, m, mean, variance, w, rstd, dy, dm, dw, db, dx, own, epsilon
            return super().batch_norm_gradient(*arrays, b, through)
        relu = mean, b, bool(through)
        sums = self._gradient_sums(x, dy, m, mean, variance, w, rstd, dm, dw, db, relu)
        return chain_ops(
            sums, self.launches(self._gradient(x, dy, dx, s, dm, rstd, w, max(1, count_rows(x)), False, relu))
        )

    def batch_norm_relu(self, x: Array, mean: Array, rstd: Array, w: Array | None, b: Array | None, dy: Array) -> Op:
        """dy = 0 where y = unit · w + b is not above 0."""
        tile = ColumnTile.of(count_rows(dy), dy.shape[1])
        return self.launches(
            self.along(FILE, "relu", tile, *with_places(x), *with_places(dy), mean, rstd, w, b, tile.value)
        )

    def moments(self, x: Array, s: Array, m: Array, count: int) -> Op:
        """m = Σ (x - s), Σ (x - s)² over all axes but the channels, divided by ``count``."""
        tile = ColumnTile.of(count_rows(x), x.shape[1])
        return self.sums(FILE, ("moments", (*with_places(x), s)), ("moments_end", (*with_places(m), count)), 2, tile)

    def moments_gradient(self, x: Array, s: Array, dm: Array, dx: Array, count: int, add: bool = False) -> Op:
        """Overwrites dx = (dm0 + 2 (x - s) dm1) / count, or adds it."""
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

    def moment_norm(
        self, x: Array, s: Array, m: Array, mean: Array, variance: Array, w: Array | None, b: Array | None, y: Array,
        rstd: Array, epsilon: float, activation: Kind | None = None,
    ) -> Op:  # fmt: skip
        """mean, variance, rstd and y."""
        return self._normalise(x, y, m, s, mean, variance, w, b, rstd, epsilon, activation)

    def batch_normalise(
        self, x: Array, mean: Array, variance: Array, w: Array | None, b: Array | None, y: Array,
        rstd: Array, epsilon: float, activation: Kind | None = None,
    ) -> Op:  # fmt: skip
        """y = activation(unit · w + b), rstd = 1 / sqrt(variance + epsilon), which stays."""
        return self._normalise(x, y, None, None, mean, variance, w, b, rstd, epsilon, activation)

    def batch_norm_parameters(
        self, x: Array, mean: Array, rstd: Array, dy: Array, dw: Array | None, db: Array | None
    ) -> Op:
        """Overwrites dw = Σ dy · unit and db = Σ dy."""
        return self._gradient_sums(x, dy, None, mean, None, None, rstd, None, dw, db)

    def batch_normalise_moments(
        self, x: Array, m: Array, mean: Array, variance: Array, rstd: Array, w: Array | None, dy: Array, dm: Array
    ) -> Op:
        """Overwrites dm."""
        return self._gradient_sums(x, dy, m, mean, variance, w, rstd, dm, None, None)

    def moment_norm_gradient(
        self, x: Array, m: Array, mean: Array, variance: Array, w: Array | None, rstd: Array, dy: Array,
        dm: Array | None, dw: Array | None, db: Array | None, dx: Array | None, epsilon: float,
    ) -> Op:  # fmt: skip
        """Overwrites dw, db, dm and dx, which is what x gets beside its moments."""
        sums = self._gradient_sums(x, dy, m, mean, variance, w, rstd, dm, dw, db)
        return sums if dx is None else chain_ops(sums, self.batch_normalise_gradient(rstd, w, dy, dx))

    def batch_normalise_gradient(self, rstd: Array, w: Array | None, dy: Array, dx: Array, add: bool = False) -> Op:
        """Overwrites dx = dy · w · rstd, or adds it."""
        return self.launches(self._gradient(None, dy, dx, None, None, rstd, w, 1, add))

    def _normalise(
        self, x: Array, y: Array, m: Array | None, s: Array | None, mean: Array, variance: Array, w: Array | None,
        b: Array | None, rstd: Array, epsilon: float, activation: Kind | None,
    ) -> Op:  # fmt: skip
        tile = ColumnTile.of(count_rows(y), y.shape[1])
        tensors = (*with_places(x), *with_places(y))
        affine = (*with_places(m), s, mean, variance, w, b, rstd)
        name = f"normalise_{activation or 'none'}"
        return self.launches(self.along(FILE, name, tile, *tensors, *affine, float(epsilon), tile.value))

    def _gradient_sums(
        self, x: Array, dy: Array, m: Array | None, mean: Array, variance: Array | None, w: Array | None, rstd: Array,
        dm: Array | None, dw: Array | None, db: Array | None, relu: Relu = PLAIN,
    ) -> Op:  # fmt: skip
        """dm, dw and db, as far as they are wanted."""
        if dm is None and dw is None and db is None:
            return NOTHING
        tile = ColumnTile.of(count_rows(dy), dy.shape[1])
        tensors = *with_places(x), *with_places(dy), mean, rstd, w, *relu[1:]
        wanted = tile.rows, *with_places(m), variance, rstd, w, *with_places(dm), dw, db
        return self.sums(FILE, ("gradient_sums", tensors), ("gradient_end", wanted), 2, tile)

    def _gradient(
        self, x: Array | None, dy: Array | None, dx: Array, s: Array | None, dm: Array | None, rstd: Array | None,
        w: Array | None, count: int, add: bool, relu: Relu = PLAIN,
    ) -> KernelLaunch | None:  # fmt: skip
        """dx by the moments, if there are dm, and beside them, if there is dy."""
        if not dx.size:
            return None
        tile = ColumnTile.of(count_rows(dx), dx.shape[1])
        tensors = *with_places(x), *with_places(dy), *with_places(dx), s, *with_places(dm)
        return self.along(FILE, "gradient", tile, *tensors, rstd, w, *relu, count, add, tile.value)
