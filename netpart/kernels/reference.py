"""The reference kernels: written once against an array module; faster kernels must agree with them."""

from __future__ import annotations

from netpart.kernels.activation import Activation
from netpart.kernels.arrays import Arrays
from netpart.kernels.attention import Attention
from netpart.kernels.batch_norm import BatchNorm
from netpart.kernels.combine import Combine
from netpart.kernels.confusion import Confusion
from netpart.kernels.convolution import Convolution
from netpart.kernels.dropout import Dropout
from netpart.kernels.element_losses import ElementLosses
from netpart.kernels.embedding import Embedding
from netpart.kernels.feed import Feed
from netpart.kernels.global_pooling import GlobalPooling
from netpart.kernels.inner_product import InnerProduct
from netpart.kernels.label_weights import LabelWeights
from netpart.kernels.losses import Losses
from netpart.kernels.lrn import LocalResponseNormalization
from netpart.kernels.matmul import Matmul
from netpart.kernels.normalisation import Normalisation
from netpart.kernels.pooling import Pooling
from netpart.kernels.resample import Resample
from netpart.kernels.rotary import Rotary
from netpart.kernels.softmax import Softmax
from netpart.kernels.updates import Updates
from netpart.kernels.vocabulary import Vocabulary


class Kernels(
    Arrays,
    Feed,
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
    Softmax,
    Vocabulary,
    Updates,
):
    """Every verb as a method that binds its arrays and returns an Op.

    All shape work is done when a verb is bound; running the Op allocates nothing. Arrays are contiguous, in C order
    or, in the verbs of layers that allow it (``Layer.memory_order``), with the channels last. They have the compute
    dtype unless a verb states another, and any axis may have extent 0. Outputs share no memory with inputs, unless
    a verb allows it.
    """

    @property
    def implementations(self) -> list[tuple[str, str]]:
        """(primitive, implementation) of all primitives of a library bound so far; these kernels bind none."""
        return []
