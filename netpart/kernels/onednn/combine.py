"""Sums and products of whole arrays with the same order in memory."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from netpart.kernels import arrays, combine
from netpart.kernels.activation import Kind
from netpart.kernels.bfloat16 import is_bfloat16
from netpart.kernels.onednn.activation import append_activation
from netpart.kernels.onednn.activation_calls import add_binary, post_op_argument
from netpart.kernels.onednn.calls import Args, Calls, OneDnnVerbs
from netpart.kernels.onednn.library import load_onednn
from netpart.kernels.onednn.memory import TYPES, DnnlMemory, flat_memories, permutes_memory, share_layout
from netpart.kernels.onednn.names import Algorithm
from netpart.kernels.onednn.primitive import Attributes
from netpart.kernels.onednn.widening import widened_op
from netpart.kernels.op import Array, Op
from netpart.threads import kernel_threads

LARGE = 1 << 23
"""Bytes from which several threads copy faster than one does: a smaller array is in a cache of that one."""


class Arrays(arrays.Arrays, OneDnnVerbs):
    """The verbs that oneDNN does faster: fills, small copies and sums of parts of arrays are left to the reference."""

    def copy(self, dst: Array, src: Array) -> Op:
        """dst = src, rounded to bfloat16 or widened where only one of them holds it.

        Copies in the same order of memory, and of parts of arrays, are NumPy's if one thread makes them faster.
        """
        alike = is_bfloat16(dst) == is_bfloat16(src)
        reorders = permutes_memory(dst, src) or _is_large_copy(dst, src)
        if alike and not (reorders and _keeps_bits(dst)):
            return super().copy(dst, src)
        plain = super().copy
        return self.attempt(
            lambda calls: calls.reorder(DnnlMemory.of(src), DnnlMemory.of(dst)), lambda: plain(dst, src)
        )

    def add(self, dst: Array, src: Array) -> Op:
        """dst += src."""
        if not share_layout(dst, src):
            return super().add(dst, src)
        plain = super().add
        return self.attempt(
            lambda calls: _add_reduction(calls, Algorithm.BINARY_ADD, dst, (dst, src)), lambda: plain(dst, src)
        )

    def total(self, dst: Array, srcs: Sequence[Array], activation: Kind | None = None) -> Op:
        """dst = activation(the sum of ``srcs``), added in the order of the list."""
        if len(srcs) < 2 or not share_layout(dst, *srcs):
            return widened_op(super().total, (dst, srcs, activation))
        return self.attempt(
            lambda calls: _add_reduction(calls, Algorithm.BINARY_ADD, dst, srcs, activation),
            super().total, dst, srcs, activation,
        )  # fmt: skip


def _keeps_bits(array: Array) -> bool:
    """True if oneDNN copies numbers of this type bit by bit: bfloat16 goes by way of float32, which loses subnormal
    numbers, where the processor does not multiply it."""
    return not is_bfloat16(array) or load_onednn().multiplies_bfloat16


def _is_large_copy(dst: Array, src: Array) -> bool:
    """True if several threads copy ``src`` faster than one: it is large, and oneDNN can describe both arrays."""
    if dst.nbytes < LARGE or kernel_threads(os.environ) < 2:
        return False
    alike = dst.dtype == src.dtype and dst.dtype.name in TYPES and min(*dst.strides, *src.strides) > 0
    return alike and not np.may_share_memory(dst, src)


class Combine(combine.Combine, OneDnnVerbs):
    """Products of arrays of one shape, and gradients of broadcasting."""

    def fold(self, dst: Array, src: Array) -> Op:
        """dst = src, summed over the axes on which only dst has extent 1."""
        alike = dst.shape == src.shape and is_bfloat16(dst) == is_bfloat16(src)
        return super().fold(dst, src) if alike else widened_op(super().fold, (dst, src))

    def multiply(self, y: Array, xs: Sequence[Array]) -> Op:
        """y = the product of ``xs``."""
        if len(xs) < 2 or not share_layout(y, *xs):
            return widened_op(super().multiply, (y, xs))
        return self.attempt(lambda calls: _add_reduction(calls, Algorithm.BINARY_MUL, y, xs), super().multiply, y, xs)

    def multiply_gradient(self, xs: Sequence[Array], k: int, dy: Array, dx: Array) -> Op:
        """Overwrite dx with the gradient of ``xs[k]``: dy times the other factors."""
        return widened_op(super().multiply_gradient, (xs, k, dy, dx))


def _add_reduction(
    calls: Calls, algorithm: Algorithm, dst: Array, srcs: Sequence[Array], activation: Kind | None = None
) -> None:
    """Append dst = activation(srcs[0] op srcs[1] op ...), in one pass."""
    target, first, second, *rest = flat_memories(dst, *srcs)
    post, others = Attributes(), Args()
    for place, source in enumerate(rest):
        post.binary(algorithm, source.desc)
        others[post_op_argument(place)] = source
    add_binary(calls, algorithm, first, second, target, append_activation(post, activation), others)
