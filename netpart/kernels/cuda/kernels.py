"""Every verb on a GPU."""

from __future__ import annotations

from netpart.kernels import reference
from netpart.kernels.cuda.arrays import Arrays
from netpart.kernels.cuda.batch_norm import BatchNorm
from netpart.kernels.cuda.global_pooling import GlobalPooling
from netpart.kernels.cuda.lrn import LocalResponseNormalization
from netpart.kernels.cuda.normalisation import Normalisation
from netpart.kernels.cuda.pooling import Pooling


class Kernels(
    Pooling,
    GlobalPooling,
    LocalResponseNormalization,
    BatchNorm,
    Normalisation,
    Arrays,
    reference.Kernels,
):
    """Takes arrays of any strides; tensors with space are best given channels-last. Work is enqueued on the stream of
    ``device``, by Ops that a CUDA graph may repeat."""
