"""Inverted dropout: the same masks as on the CPU, bit for bit, drawn inside the kernel."""

from __future__ import annotations

from math import ceil, prod

from netpart.kernels import dropout
from netpart.kernels.cuda.launch import CudaVerbs
from netpart.kernels.cuda.packed_views import DescribedArray, pack_views
from netpart.kernels.cuda.view import collapsed_views
from netpart.kernels.op import Array, Clock, Op
from netpart.kernels.philox import UniformDraws
from netpart.kernels.verbs import NOTHING
from netpart.spec import Shape

RUN = 4
"""The elements of a thread: as many as the words of a Philox block."""


class Dropout(dropout.Dropout, CudaVerbs):
    """x, y, mask, dy, dx: one shape."""

    def dropout(self, x: Array, y: Array, mask: Array, draw: UniformDraws, ratio: float, clock: Clock) -> Op:
        """y = x · mask, where mask is 0 with probability ``ratio`` and else 1/(1 - ratio).

        The step is read from a slot of the device and not from ``clock``, because a CUDA graph repeats the launch.
        """
        if not y.size:
            return NOTHING
        scale = 1 / (1 - ratio) if ratio < 1 else 0.0
        threshold = ceil(ratio * 2**24)
        arrays = collapsed_views(y, x, mask, *_element_numbers(y.shape, draw))
        rest = self.device.slot(_step_number), draw.phase, *draw.key, threshold, float(scale), y.size
        return self.launch("dropout.cu", "dropout", -(-y.size // RUN), *arrays, *rest)

    def dropout_gradient(self, dy: Array, mask: Array, dx: Array) -> Op:
        """Overwrite dx = dy · mask."""
        if not dx.size:
            return NOTHING
        target, *factors = collapsed_views(dx, dy, mask)
        return self.launches(self.elements("combine.cu", "multiply", dx.size, target, pack_views(factors), 2))


def _step_number(step: int) -> float:
    """The value of the step's slot: a module function, so that all draws share one slot."""
    return float(step)


def _element_numbers(shape: Shape, draw: UniformDraws) -> tuple[DescribedArray, DescribedArray]:
    """Views whose \"addresses\" are the global row of each element of ``shape``, and its index in the uncut row."""
    strides = [prod(draw.shape[axis + 1 :]) for axis in range(len(draw.shape))]
    start = sum(low * step for (low, _), step in zip(draw.box, strides, strict=True))
    rows = DescribedArray(shape, (1, *(0 for _ in strides)), draw.first)
    return rows, DescribedArray(shape, (0, *strides), start)
