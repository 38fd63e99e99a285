"""Every verb on a GPU."""

from __future__ import annotations

from netpart.kernels import reference
from netpart.kernels.cuda.arrays import Arrays


class Kernels(Arrays, reference.Kernels):
    """Takes arrays of any strides; tensors with space are best given channels-last. Work is enqueued on the stream of
    ``device``, by Ops that a CUDA graph may repeat."""
