"""Sums and products of whole arrays with the same order in memory."""

from __future__ import annotations

from collections.abc import Sequence

from netpart.kernels import arrays, combine
from netpart.kernels.activation import Kind
from netpart.kernels.onednn.activation import add_binary, eltwise_algorithm, eltwise_factors, post_op_argument
from netpart.kernels.onednn.calls import Args, Calls, OneDnnVerbs
from netpart.kernels.onednn.memory import flat_memories, share_layout
from netpart.kernels.onednn.names import Algorithm
from netpart.kernels.onednn.primitive import Attributes
from netpart.kernels.op import Array, Op


class Arrays(arrays.Arrays, OneDnnVerbs):
    """The verbs that oneDNN does faster: fills, copies and sums of parts of arrays are left to the reference."""

    def add(self, dst: Array, src: Array) -> Op:
        """dst += src."""
        if not share_layout(dst, src):
            return super().add(dst, src)
        return self.attempt(
            lambda calls: _add_reduction(calls, Algorithm.BINARY_ADD, dst, (dst, src)),
            lambda: super(Arrays, self).add(dst, src),
        )

    def total(self, dst: Array, srcs: Sequence[Array], activation: Kind | None = None) -> Op:
        """dst = activation(the sum of ``srcs``), added in the order of the list."""
        if len(srcs) < 2 or not share_layout(dst, *srcs):
            return super().total(dst, srcs, activation)
        return self.attempt(
            lambda calls: _add_reduction(calls, Algorithm.BINARY_ADD, dst, srcs, activation),
            lambda: super(Arrays, self).total(dst, srcs, activation),
        )


class Combine(combine.Combine, OneDnnVerbs):
    """Products of arrays of one shape."""

    def multiply(self, y: Array, xs: Sequence[Array]) -> Op:
        """y = the product of ``xs``."""
        if len(xs) < 2 or not share_layout(y, *xs):
            return super().multiply(y, xs)
        return self.attempt(
            lambda calls: _add_reduction(calls, Algorithm.BINARY_MUL, y, xs),
            lambda: super(Combine, self).multiply(y, xs),
        )


def _add_reduction(
    calls: Calls, algorithm: Algorithm, dst: Array, srcs: Sequence[Array], activation: Kind | None = None
) -> None:
    """Append dst = activation(srcs[0] op srcs[1] op ...), in one pass."""
    target, first, second, *rest = flat_memories(dst, *srcs)
    post, others = Attributes(), Args()
    for place, source in enumerate(rest):
        post.binary(algorithm, source.desc)
        others[post_op_argument(place)] = source
    if activation is not None:
        post.eltwise(eltwise_algorithm(activation), *eltwise_factors(activation, 0.0))
    add_binary(calls, algorithm, first, second, target, post, others)
