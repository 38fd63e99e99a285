"""Local response normalisation on channels-last tensors: sums over windows of channels are products with a band matrix.

oneDNN's own LRN needs blocks of channels and keeps twice the tensor. The product of places (rows · space, C) and a band
matrix (C, C) takes 2·C operations per element, few compared with a convolution of as many channels. Post-operations do
the rest.
"""

from __future__ import annotations

from math import prod

import numpy as np

from netpart.kernels import lrn as reference
from netpart.kernels.arguments import LrnFactors
from netpart.kernels.onednn.activation_calls import add_binary, add_eltwise, add_post_ops, post_op_argument
from netpart.kernels.onednn.calls import Args, Calls, OneDnnVerbs
from netpart.kernels.onednn.library import OneDnnRefused
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc, channels_last_strides, tidy_strides
from netpart.kernels.onednn.names import Algorithm, Arg
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.op import Array, Op

BETA = 0.75
"""The exponent that square roots can compute."""


class LocalResponseNormalization(reference.LocalResponseNormalization, OneDnnVerbs):
    """The verbs of the reference, for parts with all channels and a beta of 0.75."""

    def lrn(self, x: Array, y: Array, scale: Array, factors: LrnFactors) -> Op:
        """y = x · scale^-beta with scale = knorm + alpha / local_size · Σ x² over ``local_size`` channels."""
        _, local_size, alpha, beta, knorm = factors

        def describe(calls: Calls) -> None:
            source, target, kept = _place_matrices(beta, x, y, scale)
            square = calls.temporary(source.desc)
            add_eltwise(calls, Algorithm.SQUARE, source, square)
            post = Attributes().eltwise(Algorithm.LINEAR, 1.0, knorm)
            _add_band_product(calls, square, _band_matrix(x.shape[1], local_size, alpha / local_size), kept, post)
            _add_power_quotient(calls, source, kept, target)

        return self.attempt(describe, super().lrn, x, y, scale, factors)

    def lrn_gradient(self, x: Array, y: Array, scale: Array, dy: Array, dx: Array, factors: LrnFactors) -> Op:
        """Overwrite dx = dy · scale^-beta - 2·alpha·beta/local_size · x · Σ dy·y/scale."""
        _, local_size, alpha, beta, _ = factors

        def describe(calls: Calls) -> None:
            source, result, kept, above, below = _place_matrices(beta, x, y, scale, dy, dx)
            ratio = calls.temporary(source.desc)
            part = calls.temporary(source.desc)
            post = Attributes().binary(Algorithm.BINARY_DIV, kept.desc)
            add_binary(calls, Algorithm.BINARY_MUL, above, result, ratio, post, {post_op_argument(0): kept})
            _add_band_product(calls, ratio, _band_matrix(x.shape[1], local_size, -2 * alpha * beta / local_size), part)
            add_binary(calls, Algorithm.BINARY_MUL, part, source, part)
            _add_power_quotient(calls, above, kept, below, part)

        arrays = x, y, scale, dy, dx, factors
        return self.attempt(describe, super().lrn_gradient, *arrays)


def _place_matrices(beta: float, *arrays: Array) -> list[DnnlMemory]:
    """Channels-last tensors as (places, channels). Raises OneDnnRefused for other orders and another beta."""
    shape = arrays[0].shape
    for a in arrays:
        if (
            a.shape != shape
            or beta != BETA
            or tidy_strides(shape, [s // a.itemsize for s in a.strides]) != channels_last_strides(shape)
        ):
            raise OneDnnRefused(f"oneDNN: expected all channels, innermost, and beta {BETA}, got {a.shape} and {beta}")
    rows, channels, *space = shape
    places = rows * prod(space)
    return [DnnlMemory(MemoryDesc.strided((places, channels), (channels, 1), a.dtype.name), a) for a in arrays]


def _band_matrix(channels: int, local_size: int, factor: float) -> DnnlMemory:
    """The band matrix: column j has ``factor`` in the rows of the channels in the window of j."""
    numbers = np.arange(channels)
    near = np.abs(numbers - numbers[:, None]) <= local_size // 2
    return DnnlMemory.of((factor * near).astype("float32"))


def _add_band_product(
    calls: Calls, a: DnnlMemory, b: DnnlMemory, y: DnnlMemory, post: Attributes | None = None
) -> None:
    """Append y = post(a b)."""
    desc = PrimitiveDesc("matmul", a.desc, b.desc, None, y.desc, attributes=post)
    calls.add(desc, {Arg.SRC: a, Arg.WEIGHTS: b, Arg.DST: y})


def _add_power_quotient(
    calls: Calls, x: DnnlMemory, scale: DnnlMemory, y: DnnlMemory, more: DnnlMemory | None = None
) -> None:
    """Append y = x · scale^-0.75 + more = x / sqrt(scale · sqrt(scale)) + more, in one pass."""
    post = Attributes().eltwise(Algorithm.SQRT).binary(Algorithm.BINARY_MUL, scale.desc).eltwise(Algorithm.SQRT)
    post = post.eltwise(Algorithm.POW, 1.0, -1.0).binary(Algorithm.BINARY_MUL, x.desc)
    others: Args = {post_op_argument(1): scale, post_op_argument(4): x}
    if more is not None:
        post = post.binary(Algorithm.BINARY_ADD, more.desc)
        others = {**others, post_op_argument(5): more}
    add_post_ops(calls, scale, y, post, others)
