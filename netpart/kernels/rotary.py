"""Rotary positions."""

from __future__ import annotations

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs


class Rotary(Verbs):
    """x, y (..., T, D), D even."""

    def rotate(self, x: Array, y: Array, angles: Array, sign: int = 1) -> Op:
        """y = each pair of neighbours (x[2i], x[2i+1]) of a row turned by ``sign`` · ``angles`` (T, D/2).

        A pair is a complex number here, and its turn a product. The gradient is the turn back.
        Su et al., RoFormer, 2021, equation 34.
        """
        if not x.size:
            return NOTHING
        xp = self.xp
        pair = self.xp.result_type(self.dtype, "complex64")
        turns = xp.exp(sign * 1j * angles).astype(pair)
        points = x.view(pair)
        turned = y.view(pair)
        return Op(lambda: xp.multiply(points, turns, out=turned))
