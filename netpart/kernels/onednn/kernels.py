"""The oneDNN kernels: the reference kernels, with verbs replaced where oneDNN is faster."""

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
from netpart.kernels.onednn.updates import Updates

NARROW = (
    "activation", "attention", "batch_norm", "convolution", "copy", "inner_product", "lrn", "matmul", "moment_norm",
    "multiply", "normalise", "pooling", "total",
)  # fmt: skip
"""The verbs that take bfloat16, each with its gradients. What oneDNN refuses among them is computed in float32."""


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
    Updates,
    reference.Kernels,
):
    """Kernels for arrays of any strides; float32 tensors with space are fastest in channels-last order."""

    channels_last: ClassVar[bool] = True
    narrow: ClassVar[frozenset[str]] = frozenset(NARROW)
    any_order: ClassVar[bool] = True
    scores_any_order: ClassVar[bool] = True
    fuses: ClassVar[tuple[str, ...]] = ("relu", "relu6", "sigmoid", "tanh", "stanh")
    adds: ClassVar[tuple[str, ...]] = ("inner_product", "inner_product_data", "normalise_gradient")

    @property
    def implementations(self) -> list[tuple[str, str]]:
        """(primitive, implementation) of all primitives bound so far."""
        return self.stream.implementations

    @property
    def refusals(self) -> list[tuple[str, str]]:
        """(verb, reason) of all verbs that were left to the reference kernels."""
        return self.stream.refusals
