"""Rotary position embeddings."""

from __future__ import annotations

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs


class Rotary(Verbs):
    """x, y (..., T, D), D even."""

    def rotate(self, x: Array, y: Array, angles: Array, sign: int = 1) -> Op:
        """y = x with each pair of neighbours (x[2i], x[2i+1]) of a row rotated by ``sign`` · ``angles`` (T, D/2).

        A pair is treated as a complex number, and its rotation as a product. The gradient is the opposite rotation.
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
