"""Rotary position embeddings."""

from __future__ import annotations

from typing import Any

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs

REPEATED = 1 << 18
"""The most bytes of rotations that are repeated for the matrices of a row of the batch."""


class Rotary(Verbs):
    """x, y (..., T, D), D even; y may be x."""

    def rotate(self, x: Array, y: Array, angles: Array, sign: int = 1) -> Op:
        """y = x with each pair of neighbours (x[2i], x[2i+1]) of a row rotated by ``sign`` · ``angles`` (T, D/2).

        A pair is treated as a complex number, and its rotation as a product. The gradient is the opposite rotation.
        Su et al., RoFormer, 2021, equation 34.
        """
        if not x.size:
            return NOTHING
        xp = self.xp
        pair = self.xp.result_type(self.dtype, "complex64")
        points = x.view(pair)
        turned = y.view(pair)
        turns = _repeat_turns(xp, xp.exp(sign * 1j * angles).astype(pair), points[0] if points.ndim > 2 else points)
        return Op(lambda: xp.multiply(points, turns, out=turned))


def _repeat_turns(xp: Any, turns: Array, like: Array) -> Array:
    """``turns`` for each matrix of ``like``, in its order of memory, so that one loop goes over all of them; ``turns``
    itself if that would take much memory, as its rows are long then."""
    if like.nbytes > REPEATED:
        return turns
    found = xp.empty_like(like)
    found[...] = turns
    return found
