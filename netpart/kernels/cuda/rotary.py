"""Rotary position embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from netpart.kernels import rotary
from netpart.kernels.cuda.launch import CudaVerbs
from netpart.kernels.cuda.view import collapsed_views
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING


class Rotary(rotary.Rotary, CudaVerbs):
    """x, y (..., T, D), D even."""

    def rotate(self, x: Array, y: Array, angles: Array, sign: int = 1) -> Op:
        """y = x with each pair of neighbours (x[2i], x[2i+1]) of a row rotated by ``sign`` · ``angles`` (T, D/2)."""
        if not x.size:
            return NOTHING
        xp = self.xp
        pair = np.result_type(self.dtype, "complex64")
        turned = y.view(pair)
        points = x.view(pair)
        turns = xp.broadcast_to(xp.asarray(turn_factors(xp.asnumpy(angles), self.dtype, sign)), points.shape)
        return self.launches(self.elements("rotary.cu", "rotate", points.size, *collapsed_views(turned, points, turns)))


def turn_factors(angles: Array, dtype: Any, sign: int = 1) -> Array:
    """The complex numbers that rotate by ``sign`` · ``angles``, of parts of ``dtype``."""
    return np.exp(sign * 1j * angles).astype(np.result_type(dtype, "complex64"))
