"""Batch normalisation that is not cut: two passes over x forward, and one primitive backward."""

from __future__ import annotations

from collections.abc import Callable

from netpart.kernels import batch_norm as reference
from netpart.kernels.normalisation import Box
from netpart.kernels.onednn.calls import Args, Calls, Fast
from netpart.kernels.onednn.library import Refused
from netpart.kernels.onednn.memory import Desc, Memory
from netpart.kernels.onednn.names import Arg, Norm, Prop
from netpart.kernels.onednn.primitive import PrimitiveDesc
from netpart.kernels.op import Array, Op


class BatchNorm(reference.BatchNorm, Fast):
    """The verbs of the reference; ``unit``, ``rstd`` and ``dm`` are left as they were.

    Whether oneDNN does both or none depends on shapes alone, so that the gradient finds what it needs.
    """

    def batch_norm(
        self, x: Array, s: Array, m: Array, mean: Array, variance: Array, w: Array | None, b: Array | None, y: Array,
        unit: Array, rstd: Array, own: Box, epsilon: float,
    ) -> Op:  # fmt: skip
        """y, mean, variance and m."""

        def describe(calls: Calls) -> None:
            desc, _ = _described(x, own, w is not None, epsilon)
            target = Memory.of(y)
            made = calls.target(target, desc.arg(Arg.DST))
            args: Args = {
                Arg.SRC: calls.ordered(Memory.of(x), desc.arg(Arg.SRC)),
                Arg.DST: made,
                Arg.MEAN: Memory.of(mean),
                Arg.VARIANCE: Memory.of(variance),
            }
            if w is not None:
                args[Arg.SCALE] = Memory.of(w)
                args[Arg.SHIFT] = Memory.of(self.xp.zeros_like(w) if b is None else b)
            calls.add(desc, args)
            calls.reorder(made, target)

            calls.then(self._moments(s, m, mean, variance))

        arrays = x, s, m, mean, variance, w, b, y, unit, rstd, own, epsilon
        return self.attempt(describe, lambda: super(BatchNorm, self).batch_norm(*arrays))

    def batch_norm_gradient(
        self, x: Array, s: Array, m: Array, mean: Array, variance: Array, w: Array | None, unit: Array, rstd: Array,
        dy: Array, dm: Array, dw: Array | None, db: Array | None, dx: Array | None, own: Box,
        epsilon: float,
    ) -> Op:  # fmt: skip
        """Overwrites dw, db and dx."""

        def describe(calls: Calls) -> None:
            _, desc = _described(x, own, w is not None, epsilon)
            wanted = desc.arg(Arg.DIFF_SRC)
            target = calls.temporary(wanted) if dx is None else Memory.of(dx)
            made = calls.target(target, wanted)
            args: Args = {
                Arg.SRC: calls.ordered(Memory.of(x), desc.arg(Arg.SRC)),
                Arg.DIFF_DST: calls.ordered(Memory.of(dy), desc.arg(Arg.DIFF_DST)),
                Arg.DIFF_SRC: made,
                Arg.MEAN: Memory.of(mean),
                Arg.VARIANCE: Memory.of(variance),
            }
            if w is not None:
                args[Arg.SCALE] = Memory.of(w)
                args[Arg.DIFF_SCALE], args[Arg.DIFF_SHIFT] = (_place(calls, d, mean) for d in (dw, db))
            calls.add(desc, args)
            calls.reorder(made, target)

        arrays = x, s, m, mean, variance, w, unit, rstd, dy, dm, dw, db, dx, own, epsilon
        return self.attempt(describe, lambda: super(BatchNorm, self).batch_norm_gradient(*arrays))

    def _moments(self, s: Array, m: Array, mean: Array, variance: Array) -> Callable[[], None]:
        """m0 = mean - s, m1 = variance + m0²."""
        xp, first, second = self.xp, m[0, :, 0], m[0, :, 1]

        def run() -> None:
            xp.subtract(mean, s, out=first)
            xp.multiply(first, first, out=second)
            xp.add(second, variance, out=second)

        return run


def _described(x: Array, own: Box, affine: bool, epsilon: float) -> tuple[PrimitiveDesc, PrimitiveDesc]:
    """Forward and backward. Raises Refused if one of them is, or x is more than what it normalises."""
    if x[own].shape != x.shape:
        raise Refused(f"oneDNN: expected all of x to be normalised, got {own} of {x.shape}")
    flags, desc = (Norm.SCALE | Norm.SHIFT if affine else 0), Desc.last(x.shape)
    forward = PrimitiveDesc("batch_normalization_forward", Prop.FORWARD_TRAINING, desc, desc, float(epsilon), flags)
    prop = Prop.BACKWARD if affine else Prop.BACKWARD_DATA
    args = prop, desc, desc, desc, float(epsilon), flags, forward
    return forward, PrimitiveDesc("batch_normalization_backward", *args)


def _place(calls: Calls, gradient: Array | None, like: Array) -> Memory:
    """Where a gradient goes; into scratch if nobody wants it."""
    return calls.temporary(Desc.of(like)) if gradient is None else Memory.of(gradient)
