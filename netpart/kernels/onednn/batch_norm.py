"""Batch normalisation: one primitive forward and one backward, whether its moments are its own or others' as well.

not cut     batch_norm                    x ──▶ y, mean, variance        (x, dy) ──▶ dx, dw, db
cut         moments                       x ──▶ mean, variance of the part
            moment_norm                   (x, mean, variance) ──▶ y      (x, dy) ──▶ dx of y alone, dw, db
            moments_gradient                                             dx = x · A + B, channel by channel
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netpart.kernels import batch_norm as reference
from netpart.kernels.activation import Kind
from netpart.kernels.normalisation import Box
from netpart.kernels.onednn.activation import eltwise, factors, forward, operand
from netpart.kernels.onednn.calls import Args, Calls, Fast
from netpart.kernels.onednn.library import Refused
from netpart.kernels.onednn.memory import Desc, Memory, last
from netpart.kernels.onednn.names import Algorithm, Arg, Norm, Prop
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.op import Array, Op

GIVEN, OWN = Norm.GLOBAL_STATS | Norm.SCALE | Norm.SHIFT, Norm.SCALE | Norm.SHIFT
"""Flags: with statistics that are given, or those of the tensor; always with scale and shift, whose gradients tell."""


class BatchNorm(reference.BatchNorm, Fast):
    """The verbs of the reference; ``unit`` is left as it was.

    Whether oneDNN does forward and backward or neither depends on shapes alone, so that one finds what the other left.
    """

    def batch_norm(
        self, x: Array, s: Array, m: Array, mean: Array, variance: Array, w: Array | None, b: Array | None, y: Array,
        unit: Array, rstd: Array, own: Box, epsilon: float, activation: Kind | None = None,
    ) -> Op:  # fmt: skip
        """y, mean, variance and m."""

        def describe(calls: Calls) -> None:
            _check(x, own)
            self._forward(calls, x, y, mean, variance, w, b, epsilon, OWN, activation)
            calls.then(self._moments(s, m, mean, variance, 1.0))

        arrays = x, s, m, mean, variance, w, b, y, unit, rstd, own, epsilon, activation
        return self.attempt(describe, lambda: super(BatchNorm, self).batch_norm(*arrays))

    def batch_norm_gradient(
        self, x: Array, s: Array, m: Array, mean: Array, variance: Array, w: Array | None, unit: Array, rstd: Array,
        dy: Array, dm: Array, dw: Array | None, db: Array | None, dx: Array | None, own: Box,
        epsilon: float,
    ) -> Op:  # fmt: skip
        """Overwrites dw, db and dx."""

        def describe(calls: Calls) -> None:
            _check(x, own)
            sums = self._sums(mean, dw, db)
            self._backward(calls, x, dy, dx, mean, variance, w, sums, epsilon, OWN)

        arrays = x, s, m, mean, variance, w, unit, rstd, dy, dm, dw, db, dx, own, epsilon
        return self.attempt(describe, lambda: super(BatchNorm, self).batch_norm_gradient(*arrays))

    def moments(self, x: Array, s: Array, m: Array, count: int) -> Op:
        """m = Σ (x - s), Σ (x - s)² over all axes but the channels, divided by ``count``."""

        def describe(calls: Calls) -> None:
            mean, variance = self.xp.empty_like(s), self.xp.empty_like(s)
            self._forward(calls, x, None, mean, variance, None, None, 1.0, OWN)
            calls.then(self._moments(s, m, mean, variance, x[:, 0].size / count))

        return self.attempt(describe, lambda: super(BatchNorm, self).moments(x, s, m, count))

    def moments_gradient(self, x: Array, s: Array, dm: Array, dx: Array, count: int) -> Op:
        """Overwrites dx = (dm0 + 2 (x - s) dm1) / count."""
        xp, first, second = self.xp, dm[0, :, 0], dm[0, :, 1]

        def describe(calls: Calls) -> None:
            factor, shift = xp.empty_like(s), xp.empty_like(s)

            def prepare() -> None:
                xp.multiply(second, 2 / count, out=factor)
                xp.multiply(factor, s, out=shift)
                xp.multiply(shift, -count, out=shift)
                xp.add(shift, first, out=shift)
                xp.divide(shift, count, out=shift)

            calls.then(prepare)
            _affine(calls, x, factor, shift, dx)

        return self.attempt(describe, lambda: super(BatchNorm, self).moments_gradient(x, s, dm, dx, count))

    def moment_norm(
        self, x: Array, s: Array, m: Array, mean: Array, variance: Array, w: Array | None, b: Array | None, y: Array,
        unit: Array, rstd: Array, epsilon: float, activation: Kind | None = None,
    ) -> Op:  # fmt: skip
        """mean, variance, rstd and y."""
        xp, statistics = self.xp, self.statistics(m, s, mean, variance).run

        def prepare() -> None:
            statistics()
            xp.add(variance, epsilon, out=rstd)
            xp.sqrt(rstd, out=rstd)
            xp.divide(1, rstd, out=rstd)

        def describe(calls: Calls) -> None:
            calls.then(prepare)
            self._forward(calls, x, y, mean, variance, w, b, epsilon, GIVEN, activation)

        arrays = x, s, m, mean, variance, w, b, y, unit, rstd, epsilon, activation
        return self.attempt(describe, lambda: super(BatchNorm, self).moment_norm(*arrays))

    def moment_norm_gradient(
        self, x: Array, m: Array, mean: Array, variance: Array, w: Array | None, unit: Array, rstd: Array, dy: Array,
        dm: Array | None, dw: Array | None, db: Array | None, dx: Array | None, epsilon: float,
    ) -> Op:  # fmt: skip
        """Overwrites dw, db, dm and dx, which is what x gets beside its moments."""

        def describe(calls: Calls) -> None:
            sums = self._sums(mean, dw, db)
            self._backward(calls, x, dy, dx, mean, variance, w, sums, epsilon, GIVEN)
            if dm is not None:
                calls.then(self._moments_gradient(m, variance, w, rstd, dm, *sums))

        arrays = x, m, mean, variance, w, unit, rstd, dy, dm, dw, db, dx, epsilon
        return self.attempt(describe, lambda: super(BatchNorm, self).moment_norm_gradient(*arrays))

    def _forward(
        self, calls: Calls, x: Array, y: Array | None, mean: Array, variance: Array, w: Array | None, b: Array | None,
        epsilon: float, flags: int, activation: Kind | None = None,
    ) -> None:  # fmt: skip
        """y (None: nobody wants it) and, where they are not given, mean and variance."""
        desc, _ = _described(x, epsilon, flags, Attributes().eltwise(forward("relu")) if activation == "relu" else None)
        wanted = desc.arg(Arg.DST)
        target = calls.temporary(wanted) if y is None else Memory.of(y)
        made = calls.target(target, wanted)
        args: Args = {
            Arg.SRC: calls.ordered(Memory.of(x), desc.arg(Arg.SRC)),
            Arg.DST: made,
            Arg.MEAN: Memory.of(mean),
            Arg.VARIANCE: Memory.of(variance),
            Arg.SCALE: Memory.of(self.xp.ones_like(mean) if w is None else w),
            Arg.SHIFT: Memory.of(self.xp.zeros_like(mean) if b is None else b),
        }
        calls.add(desc, args)
        if activation not in (None, "relu"):
            eltwise(calls, forward(activation), made, made, *factors(activation, 0.0))
        calls.reorder(made, target)

    def _backward(
        self, calls: Calls, x: Array, dy: Array, dx: Array | None, mean: Array, variance: Array, w: Array | None,
        sums: Sequence[Array], epsilon: float, flags: int,
    ) -> None:  # fmt: skip
        """dx (None: nobody wants it) and ``sums``: of dy · unit, and of dy."""
        _, desc = _described(x, epsilon, flags)
        wanted = desc.arg(Arg.DIFF_SRC)
        target = calls.temporary(wanted) if dx is None else Memory.of(dx)
        made = calls.target(target, wanted)
        args: Args = {
            Arg.SRC: calls.ordered(Memory.of(x), desc.arg(Arg.SRC)),
            Arg.DIFF_DST: calls.ordered(Memory.of(dy), desc.arg(Arg.DIFF_DST)),
            Arg.DIFF_SRC: made,
            Arg.MEAN: Memory.of(mean),
            Arg.VARIANCE: Memory.of(variance),
            Arg.SCALE: Memory.of(self.xp.ones_like(mean) if w is None else w),
            Arg.DIFF_SCALE: Memory.of(sums[0]),
            Arg.DIFF_SHIFT: Memory.of(sums[1]),
        }
        calls.add(desc, args)
        calls.reorder(made, target)

    def _sums(self, like: Array, *gradients: Array | None) -> list[Array]:
        """Where the gradients of scale and shift go; to arrays of their own if nobody wants them."""
        return [self.xp.empty_like(like) if gradient is None else gradient for gradient in gradients]

    def _moments(self, s: Array, m: Array, mean: Array, variance: Array, share: float) -> Callable[[], None]:
        """m0 = share · (mean - s), m1 = share · (variance + (mean - s)²)."""
        xp, first, second = self.xp, m[0, :, 0], m[0, :, 1]

        def run() -> None:
            xp.subtract(mean, s, out=first)
            xp.multiply(first, first, out=second)
            xp.add(second, variance, out=second)
            xp.multiply(m, share, out=m)

        return run

    def _moments_gradient(
        self, m: Array, variance: Array, w: Array | None, rstd: Array, dm: Array, dw: Array, db: Array
    ) -> Callable[[], None]:
        """dm0 = m0 · rstd² · w · dw - rstd · w · db, dm1 = -rstd² / 2 · w · dw, with dw as 0 where the variance is."""
        xp, mean, first, second = self.xp, m[0, :, 0], dm[0, :, 0], dm[0, :, 1]
        slope, flat = xp.empty_like(rstd), xp.empty(rstd.shape, bool)

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


def _check(x: Array, own: Box) -> None:
    if x[own].shape != x.shape:
        raise Refused(f"oneDNN: expected all of x to be normalised, got {own} of {x.shape}")


def _described(
    x: Array, epsilon: float, flags: int, post: Attributes | None = None
) -> tuple[PrimitiveDesc, PrimitiveDesc]:
    """Forward, with ``post`` behind it, and backward of what is before that. Raises Refused if one of them is."""
    desc = Desc.last(x.shape)
    args = desc, desc, float(epsilon), flags
    forward = PrimitiveDesc("batch_normalization_forward", Prop.FORWARD_TRAINING, *args)
    backward = PrimitiveDesc("batch_normalization_backward", Prop.BACKWARD, desc, *args, forward)
    if post is not None:
        forward = PrimitiveDesc("batch_normalization_forward", Prop.FORWARD_TRAINING, *args, attributes=post)
    return forward, backward


def _affine(calls: Calls, x: Array, factor: Array, shift: Array, y: Array) -> None:
    """Then y = x · factor + shift, channel by channel."""
    shape = (1, x.shape[1], *(1 for _ in x.shape[2:]))
    channels, tensor, target = Desc.strided(shape, last(shape)), Desc.last(x.shape), Memory.of(y)
    post = Attributes().binary(Algorithm.BINARY_ADD, channels)
    desc = PrimitiveDesc("binary", Algorithm.BINARY_MUL, tensor, channels, tensor, attributes=post)
    made = calls.target(target, tensor)
    args: Args = {
        Arg.SRC: calls.ordered(Memory.of(x), tensor),
        Arg.SRC_1: Memory(channels, factor),
        operand(0): Memory(channels, shift),
        Arg.DST: made,
    }
    calls.add(desc, args)
    calls.reorder(made, target)
