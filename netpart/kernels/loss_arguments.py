"""Arguments of the verbs of the softmax loss: whole, its gradient, and cut on its classes.

Shapes use B rows, n classes and ... positions.
"""

from __future__ import annotations

from typing import NamedTuple

from netpart.kernels.op import Array


class SoftmaxLossArguments(NamedTuple):
    """Arguments of ``softmax_loss``: n classes, which are all axes of x after those of the labels."""

    x: Array  # (B, ..., *F), the scores
    label: Array  # (B, ...), int32
    y: Array  # the shape of x, output: the probabilities
    metrics: Array  # (2,) to (4,), sums that the loss is added to
    owned: Array | None  # bool, the shape of label or of x, or None: the rows that count in the metrics; None: all
    topk: int  # a hit: the label is among the topk largest scores
    scale: float  # factor of the loss
    positions: int = 1  # labels of a row
    smoothing: float = 0.0  # the share of the label's probability that is spread over all classes
    weights: tuple[float, ...] | None = None  # a factor for each of all classes; None: 1
    ignored: int | None = None  # rows with this label count for nothing; None: all count
    total: Array | None = None  # (1, 1), the sum of the weights of the mini-batch; None: not a factor
    batch: int = 1  # with ``total``: the labels of the mini-batch; the loss is multiplied by batch / total


class SoftmaxLossGradientArguments(NamedTuple):
    """Arguments of ``softmax_loss_gradient``, for all of the n classes or for some of them."""

    y: Array  # (B, ..., *F), the probabilities of these classes
    label: Array  # (B, ...), int32
    dx: Array  # the shape of y, output
    owned: Array | None  # bool, the shape of label or of y, or None: where dx is not 0; None: everywhere
    factor: float  # of the gradient
    smoothing: float = 0.0  # as given to softmax_loss
    among: tuple[int, int] | None = None  # the number of the first class of y and n; None: y has all classes
    weights: tuple[float, ...] | None = None  # a factor for each of all classes; None: 1
    ignored: int | None = None  # rows with this label count for nothing; None: all count
    total: Array | None = None  # (1, 1), the sum of the weights of the mini-batch; None: not a factor
    batch: int = 1  # with ``total``: the labels of the mini-batch; dx is multiplied by batch / total


class ClassLossArguments(NamedTuple):
    """Arguments of ``class_loss``: the softmax loss of some of all classes, from the figures of every block of them."""

    x: Array  # (B, ..., C), the scores of C of the classes
    label: Array  # (B, ...), int32
    f: Array  # (B, ..., K, figures), those of all K blocks, as ``class_blocks`` wrote them
    y: Array  # the shape of x, output: the probabilities
    metrics: Array | None  # (2,) to (4,), sums that the loss is added to; None: the part of other classes reports it
    owned: Array | None  # bool, the shape of label, or None: the labels that count in the metrics; None: all
    classes: int  # the number of all classes
    topk: int  # a hit: the label is among the topk largest scores
    scale: float  # factor of the loss
    positions: int  # labels of a row
    smoothing: float  # the share of the label's probability that is spread over all classes
    weights: tuple[float, ...] | None = None  # a factor for each of all classes; None: 1
    ignored: int | None = None  # rows with this label count for nothing; None: all count
    total: Array | None = None  # (1, 1), the sum of the weights of the mini-batch; None: not a factor
    batch: int = 1  # with ``total``: the labels of the mini-batch; the loss is multiplied by batch / total
