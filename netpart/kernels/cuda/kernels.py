"""The CUDA kernels: every verb on a GPU."""

from __future__ import annotations

from typing import ClassVar

from netpart.kernels import reference
from netpart.kernels.cuda.activation import Activation
from netpart.kernels.cuda.arrays import Arrays
from netpart.kernels.cuda.attention import Attention
from netpart.kernels.cuda.batch_norm import BatchNorm
from netpart.kernels.cuda.combine import Combine
from netpart.kernels.cuda.confusion import Confusion
from netpart.kernels.cuda.convolution import Convolution
from netpart.kernels.cuda.dropout import Dropout
from netpart.kernels.cuda.element_losses import ElementLosses
from netpart.kernels.cuda.embedding import Embedding
from netpart.kernels.cuda.feed import Feed
from netpart.kernels.cuda.global_pooling import GlobalPooling
from netpart.kernels.cuda.label_weights import LabelWeights
from netpart.kernels.cuda.losses import Losses
from netpart.kernels.cuda.lrn import LocalResponseNormalization
from netpart.kernels.cuda.normalisation import Normalisation
from netpart.kernels.cuda.pooling import Pooling
from netpart.kernels.cuda.products import InnerProduct, Matmul
from netpart.kernels.cuda.resample import Resample
from netpart.kernels.cuda.rotary import Rotary
from netpart.kernels.cuda.updates import Updates
from netpart.kernels.cuda.vocabulary import Vocabulary


class Kernels(
    Combine,
    Convolution,
    Pooling,
    GlobalPooling,
    Resample,
    LocalResponseNormalization,
    BatchNorm,
    Normalisation,
    InnerProduct,
    Matmul,
    Attention,
    Rotary,
    Embedding,
    ElementLosses,
    Activation,
    Dropout,
    Losses,
    LabelWeights,
    Confusion,
    Vocabulary,
    Updates,
    Arrays,
    Feed,
    reference.Kernels,
):
    """Kernels for arrays of any strides; tensors with space are fastest in channels-last order.

    Work is enqueued on the stream of ``device``, by Ops that a CUDA graph may repeat.
    """

    gathers: ClassVar[bool] = True
    weights_last: ClassVar[bool] = True
    branches: ClassVar[bool] = True
    any_order: ClassVar[bool] = True
    turns_rows: ClassVar[bool] = True
    adds: ClassVar[tuple[str, ...]] = ("inner_product", "inner_product_data", "normalise_gradient")
    fuses: ClassVar[tuple[str, ...]] = ("relu", "relu6", "sigmoid", "tanh", "stanh", "softplus")
    fuses_back: ClassVar[tuple[str, ...]] = ("relu",)
