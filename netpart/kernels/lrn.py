"""Local response normalisation across channels (Krizhevsky et al. 2012, section 3.3)."""

from __future__ import annotations

from netpart.kernels.arguments import LrnFactors
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs
from netpart.spec import Shape


class LocalResponseNormalization(Verbs):
    """x (B, C + halo, *spatial); channel j of y, scale and dy is channel j + ``offset`` of x and dx."""

    @classmethod
    def lrn_keeps(cls, outputs: Shape, local_size: int) -> Shape:
        """The shape of scale, which ``lrn`` keeps for its gradient: that of y, which is ``outputs``."""
        return outputs

    def lrn(self, x: Array, y: Array, scale: Array, factors: LrnFactors) -> Op:
        """y = x · scale^-beta with scale = knorm + alpha/local_size · Σ x² over ``local_size`` channels.

        The window is clipped at the channel ends of x. ``scale`` (of the shape ``lrn_keeps``) is kept for the gradient.
        """
        if not y.size:
            return NOTHING
        xp = self.xp
        offset, local_size, alpha, beta, knorm = factors
        own = x[:, offset : offset + y.shape[1]]
        shifts = _window_shifts(x.shape[1], y.shape[1], offset, local_size)

        def run(square: Array) -> None:
            xp.multiply(x, x, out=square)
            scale.fill(0)
            for inner, outer in shifts:
                xp.add(scale[:, outer], square[:, inner], out=scale[:, outer])
            xp.multiply(scale, alpha / local_size, out=scale)
            xp.add(scale, knorm, out=scale)
            xp.power(scale, -beta, out=y)
            xp.multiply(y, own, out=y)

        return Op(run, [(x.shape, self.dtype)])

    def lrn_gradient(self, x: Array, y: Array, scale: Array, dy: Array, dx: Array, factors: LrnFactors) -> Op:
        """Overwrite all of dx with what the outputs in dy contribute (the owners of a halo add it up).

        dx_c = dy_c·scale_c^-beta - 2·alpha·beta/local_size · x_c · Σ_j dy_j·y_j/scale_j
        """
        if not dx.size or not dy.size:
            return Op(lambda: dx.fill(0))
        xp = self.xp
        offset, local_size, alpha, beta, _ = factors
        own = dx[:, offset : offset + dy.shape[1]]
        shifts = _window_shifts(x.shape[1], dy.shape[1], offset, local_size)

        def run(ratio: Array) -> None:
            xp.multiply(dy, y, out=ratio)
            xp.divide(ratio, scale, out=ratio)
            dx.fill(0)
            for inner, outer in shifts:
                xp.add(dx[:, inner], ratio[:, outer], out=dx[:, inner])
            xp.multiply(dx, x, out=dx)
            xp.multiply(dx, -2 * alpha * beta / local_size, out=dx)
            xp.power(scale, -beta, out=ratio)
            xp.multiply(ratio, dy, out=ratio)
            xp.add(own, ratio, out=own)

        return Op(run, [(dy.shape, self.dtype)])


def _window_shifts(inputs: int, outputs: int, offset: int, local_size: int) -> list[tuple[slice, slice]]:
    """Per position in the window: the channels of x, and the channels of y whose windows have them there."""
    pairs = []
    for shift in range(offset - local_size // 2, offset + local_size // 2 + 1):
        first = max(0, -shift)
        stop = min(outputs, inputs - shift)
        if first < stop:
            pairs.append((slice(first + shift, stop + shift), slice(first, stop)))
    return pairs
