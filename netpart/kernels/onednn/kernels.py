"""The verbs of the reference kernels, those that oneDNN does better by oneDNN."""

from __future__ import annotations

from typing import ClassVar

from netpart.kernels import reference
from netpart.kernels.onednn.activation import Activation
from netpart.kernels.onednn.attention import Attention
from netpart.kernels.onednn.batch_norm import BatchNorm
from netpart.kernels.onednn.combine import Arrays, Combine
from netpart.kernels.onednn.convolution import Convolution
from netpart.kernels.onednn.lrn import LocalResponseNormalization
from netpart.kernels.onednn.normalisation import Normalisation
from netpart.kernels.onednn.pooling import Pooling
from netpart.kernels.onednn.products import InnerProduct, Matmul
from netpart.kernels.onednn.softmax import Softmax


class Kernels(
    Arrays,
    Combine,
    Convolution,
    Pooling,
    LocalResponseNormalization,
    Normalisation,
    BatchNorm,
    InnerProduct,
    Matmul,
    Attention,
    Activation,
    Softmax,
    reference.Kernels,
):
    """Takes arrays of any strides; float32 tensors with space are best given channels-last."""

    channels_last: ClassVar[bool] = True
    fuses: ClassVar[tuple[str, ...]] = ("relu", "relu6", "sigmoid", "tanh")

    @property
    def implementations(self) -> list[tuple[str, str]]:
        """(primitive, implementation) of everything bound so far."""
        return self.stream.implementations

    @property
    def refusals(self) -> list[tuple[str, str]]:
        """(verb, reason) of everything that the reference kernels had to do."""
        return self.stream.refusals
