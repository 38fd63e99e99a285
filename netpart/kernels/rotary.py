"""Rotary positions."""

from __future__ import annotations

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs


class Rotary(Verbs):
    """x, y (..., T, D), D even."""

    def rotate(self, x: Array, y: Array, angles: Array, sign: int = 1) -> Op:
        """y = each pair of neighbours (x[2i], x[2i+1]) of a row turned by ``sign`` · ``angles`` (T, D/2).

        The gradient is the turn back. Su et al., RoFormer, 2021, equation 34.
        """
        if not x.size:
            return NOTHING
        xp, cos, sin = self.xp, self.xp.cos(angles), sign * self.xp.sin(angles)
        cos, sin = cos.astype(self.dtype), sin.astype(self.dtype)
        even, odd, left, right = x[..., 0::2], x[..., 1::2], y[..., 0::2], y[..., 1::2]

        def run(part: Array) -> None:
            xp.multiply(even, cos, out=left)
            xp.multiply(odd, sin, out=part)
            xp.subtract(left, part, out=left)
            xp.multiply(even, sin, out=right)
            xp.multiply(odd, cos, out=part)
            xp.add(right, part, out=right)

        return Op(run, [(even.shape, self.dtype)])
