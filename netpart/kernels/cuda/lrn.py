"""Local response normalisation across channels: a thread has the windows of a few channels in registers."""

from __future__ import annotations

from typing import Any

from netpart.kernels import lrn as reference
from netpart.kernels.arguments import LrnFactors
from netpart.kernels.cuda.column_kernels import FEW, count_rows, with_places
from netpart.kernels.cuda.launch import CudaVerbs, check_kernel_size
from netpart.kernels.op import Array, Op
from netpart.spec import Shape

FILE = "lrn.cu"
NARROW = 9
"""The most channels of a window in registers."""
WARP = 32
"""Threads of a warp, which take neighbouring places where channels are not innermost."""
QUARTERS = 2, 3, 4
"""4 · beta of the exponents that roots and quotients compute."""


class LocalResponseNormalization(reference.LocalResponseNormalization, CudaVerbs):
    """The verbs of the reference; windows of up to ``NARROW`` channels keep nothing."""

    @classmethod
    def lrn_keeps(cls, outputs: Shape, local_size: int) -> Shape:
        """The shape of scale: empty where the gradient makes it again from x."""
        return (0,) if local_size <= NARROW else outputs

    def lrn(self, x: Array, y: Array, scale: Array, factors: LrnFactors) -> Op:
        """y = x · scale^-beta with scale = knorm + alpha/local_size · Σ x² over ``local_size`` channels."""
        offset, local_size, alpha, beta, knorm = factors
        channels = int(x.shape[1]), int(y.shape[1]), offset
        constants = alpha / local_size, float(beta), float(knorm)
        if local_size <= NARROW:
            return self._run_along("lrn", factors, y, *_all_places(x, y), *channels, count_rows(y), *constants)
        args = *_all_places(x, y, scale), *channels, local_size // 2, *constants, int(y.size)
        return self._run("wide_lrn", factors, y.size, *args)

    def lrn_gradient(self, x: Array, y: Array, scale: Array, dy: Array, dx: Array, factors: LrnFactors) -> Op:
        """Overwrite all of dx with what the outputs in dy contribute."""
        offset, local_size, alpha, beta, knorm = factors
        channels = int(dx.shape[1]), int(dy.shape[1]), offset
        factor = -2 * alpha * beta / local_size
        if local_size <= NARROW:
            constants = alpha / local_size, float(beta), float(knorm), factor
            tensors = _all_places(x, dy, dx)
            return self._run_along("lrn_gradient", factors, dx, *tensors, *channels, count_rows(dx), *constants)
        args = *_all_places(x, y, scale, dy, dx), *channels, local_size // 2, float(beta), factor, int(dx.size)
        return self._run("wide_lrn_gradient", factors, dx.size, *args)

    def _run_along(self, name: str, factors: LrnFactors, target: Array, *args: Any) -> Op:
        """A kernel with a thread for FEW channels of a place of ``target``."""
        threads = -(-count_rows(target) // WARP) * WARP * -(-target.shape[1] // FEW)
        return self._run(name, factors, check_kernel_size(threads, "groups of channels of a tensor"), *args)

    def _run(self, name: str, factors: LrnFactors, size: int, *args: Any) -> Op:
        """A kernel of the window and the exponent of ``factors``."""
        power = next((n for n in QUARTERS if n == 4 * factors.beta), 0)
        half = min(factors.local_size, NARROW) // 2
        return self.launches(self.bound(FILE, name, size, *args, defines=(f"HALF={half}", f"POWER={power}")))


def _all_places(*tensors: Array) -> list[Any]:
    """The arguments of ``with_places`` for each of ``tensors``."""
    return [value for tensor in tensors for value in with_places(tensor)]
