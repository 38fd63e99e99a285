"""Inverted dropout: kept elements are scaled up in training, so that testing needs no dropout."""

from __future__ import annotations

from math import ceil

from netpart.kernels.op import Array, Clock, Op
from netpart.kernels.philox import UniformDraws
from netpart.kernels.verbs import NOTHING, Verbs


class Dropout(Verbs):
    """x, y, mask, dy, dx: one shape."""

    def dropout(self, x: Array, y: Array, mask: Array, draw: UniformDraws, ratio: float, clock: Clock) -> Op:
        """y = x · mask, where mask is 0 with probability ``ratio`` and else 1/(1 - ratio).

        The mask is keyed by the clock's step and the global element index: the same for every cut.
        """
        if not y.size:
            return NOTHING
        xp = self.xp
        scale = 1 / (1 - ratio) if ratio < 1 else 0.0
        # Rounded up to the grid of the draws, so that float32 and float64 compare alike.
        threshold = ceil(ratio * 2**24) * 2.0**-24
        # Draws are written to contiguous memory only: to the mask itself where it is, else to a temporary.
        plain = mask.flags.c_contiguous

        def run(kept: Array, spare: Array, *scratch: Array) -> None:
            drawn = mask if plain else spare
            draw.uniform(drawn, clock.step, *scratch)
            xp.greater_equal(drawn, threshold, out=kept)
            xp.copyto(mask, kept)
            xp.multiply(mask, scale, out=mask)
            xp.multiply(x, mask, out=y)

        return Op(run, [(mask.shape, bool), ((0,) if plain else mask.shape, mask.dtype), *draw.scratch])

    def dropout_gradient(self, dy: Array, mask: Array, dx: Array) -> Op:
        """Overwrite dx = dy · mask."""
        return Op(lambda: self.xp.multiply(dy, mask, out=dx))
