"""Local response normalisation across channels: a thread reads the channels in the window of its element."""

from __future__ import annotations

from netpart.kernels import lrn as reference
from netpart.kernels.arguments import LrnFactors
from netpart.kernels.cuda.column_kernels import with_places
from netpart.kernels.cuda.launch import CudaVerbs
from netpart.kernels.op import Array, Op

FILE = "lrn.cu"


class LocalResponseNormalization(reference.LocalResponseNormalization, CudaVerbs):
    """The verbs of the reference."""

    def lrn(self, x: Array, y: Array, scale: Array, factors: LrnFactors) -> Op:
        """y = x · scale^-beta with scale = knorm + alpha/local_size · Σ x² over ``local_size`` channels."""
        tensors = [value for array in (x, y, scale) for value in with_places(array)]
        offset, local_size, alpha, beta, knorm = factors
        window = int(x.shape[1]), int(y.shape[1]), offset, local_size // 2
        constants = alpha / local_size, float(beta), float(knorm)
        return self.launch(FILE, "lrn", y.size, *tensors, *window, *constants, int(y.size))

    def lrn_gradient(self, x: Array, y: Array, scale: Array, dy: Array, dx: Array, factors: LrnFactors) -> Op:
        """Overwrite all of dx with what the outputs in dy contribute."""
        tensors = [value for array in (x, y, scale, dy, dx) for value in with_places(array)]
        offset, local_size, alpha, beta, _ = factors
        window = int(dx.shape[1]), int(dy.shape[1]), offset, local_size // 2
        constants = -2 * alpha * beta / local_size, float(beta)
        return self.launch(FILE, "lrn_gradient", dx.size, *tensors, *window, *constants, int(dx.size))
