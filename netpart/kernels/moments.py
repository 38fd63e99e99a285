"""The moments of a channel: sums that parts of a batch add up to get the mean and variance of the whole batch.

They are taken about a centre s that is known before the batch is seen (the running mean), because sums about 0 cancel
where the mean is large: m[..., 0] = mean (x - s), m[..., 1] = mean (x - s)². So mean = s + m0 and variance = m1 - m0².
Moments of disjoint parts, each divided by the elements of the whole batch, add up.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs


class Moments(Verbs):
    """x, dx (B, C, ...), perhaps views; m, dm (1, C, 2); s, mean, variance (C,)."""

    def moments(self, x: Array, s: Array, m: Array, count: int) -> Op:
        """m = Σ (x - s), Σ (x - s)² over all axes except the channels, divided by ``count``."""
        if not x.size:
            return Op(partial(m.fill, 0))
        xp = self.xp
        axes = non_channel_axes(x)
        s_c = broadcast_channels(s, x.ndim)
        first, second = (broadcast_channels(m[0, :, i], x.ndim) for i in range(2))

        def run(centred: Array) -> None:
            xp.subtract(x, s_c, out=centred)
            xp.sum(centred, axis=axes, keepdims=True, out=first)
            xp.multiply(centred, centred, out=centred)
            xp.sum(centred, axis=axes, keepdims=True, out=second)
            xp.divide(m, count, out=m)

        return Op(run, [(x.shape, self.dtype)])

    def moments_gradient(self, x: Array, s: Array, dm: Array, dx: Array, count: int, add: bool = False) -> Op:
        """Overwrite dx = (dm0 + 2 (x - s) dm1) / count, or add it."""
        if not dx.size:
            return NOTHING
        xp = self.xp
        s_c = broadcast_channels(s, x.ndim)
        first, second = (broadcast_channels(dm[0, :, i], x.ndim) for i in range(2))

        def run(part: Array) -> None:
            target = part if add else dx
            xp.subtract(x, s_c, out=target)
            xp.multiply(target, 2, out=target)
            xp.multiply(target, second, out=target)
            xp.add(target, first, out=target)
            xp.divide(target, count, out=target)
            if add:
                xp.add(dx, part, out=dx)

        return Op(run, [(dx.shape if add else (0,), self.dtype)])

    def moments_share(self, m: Array, factor: float, dmean: Array | None, dvariance: Array | None) -> Op:
        """Overwrite dmean and dvariance with the moments times ``factor``, this batch's share of the mini-batch."""
        pairs = [(d, m[0, :, i]) for i, d in enumerate((dmean, dvariance)) if d is not None]

        def run() -> None:
            for target, moment in pairs:
                self.xp.multiply(moment, factor, out=target)

        return Op(run)

    def statistics(self, m: Array, s: Array, mean: Array, variance: Array) -> Op:
        """mean = s + m0, variance = m1 - m0², at least 0."""
        xp = self.xp
        first = m[0, :, 0]
        second = m[0, :, 1]

        def run() -> None:
            xp.add(s, first, out=mean)
            xp.multiply(first, first, out=variance)
            xp.subtract(second, variance, out=variance)
            # Rounding may make the difference negative, and rstd would then be NaN.
            xp.maximum(variance, 0, out=variance)

        return Op(run)


def broadcast_channels(values: Array, rank: int) -> Any:
    """A view of values (C,) that broadcasts along axis 1 of an array of ``rank`` axes."""
    return values[(None, slice(None), *(None for _ in range(rank - 2)))]


def non_channel_axes(x: Array) -> tuple[int, ...]:
    """All axes except the channel axis."""
    return (0, *range(2, x.ndim))
