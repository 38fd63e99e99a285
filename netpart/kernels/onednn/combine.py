"""Sums and products of whole arrays that lie alike."""

from __future__ import annotations

from collections.abc import Sequence

from netpart.kernels import arrays, combine
from netpart.kernels.onednn.activation import binary, operand
from netpart.kernels.onednn.calls import Args, Calls, Fast
from netpart.kernels.onednn.memory import alike, flat
from netpart.kernels.onednn.names import Algorithm
from netpart.kernels.onednn.primitive import Attributes
from netpart.kernels.op import Array, Op


class Arrays(arrays.Arrays, Fast):
    """Only what pays: fills, copies and sums of parts of arrays are as fast in the reference."""

    def add(self, dst: Array, src: Array) -> Op:
        """dst += src."""
        if not alike(dst, src):
            return super().add(dst, src)
        return self.attempt(
            lambda calls: _folded(calls, Algorithm.BINARY_ADD, dst, (dst, src)),
            lambda: super(Arrays, self).add(dst, src),
        )

    def total(self, dst: Array, srcs: Sequence[Array]) -> Op:
        """dst = the sum of ``srcs``, added in the order of the list."""
        if len(srcs) < 2 or not alike(dst, *srcs):
            return super().total(dst, srcs)
        return self.attempt(
            lambda calls: _folded(calls, Algorithm.BINARY_ADD, dst, srcs), lambda: super(Arrays, self).total(dst, srcs)
        )


class Combine(combine.Combine, Fast):
    """Products of arrays of one shape."""

    def multiply(self, y: Array, xs: Sequence[Array]) -> Op:
        """y = the product of ``xs``."""
        if len(xs) < 2 or not alike(y, *xs):
            return super().multiply(y, xs)
        return self.attempt(
            lambda calls: _folded(calls, Algorithm.BINARY_MUL, y, xs), lambda: super(Combine, self).multiply(y, xs)
        )


def _folded(calls: Calls, algorithm: Algorithm, dst: Array, srcs: Sequence[Array]) -> None:
    """dst = srcs[0] op srcs[1] op ..., in one pass."""
    target, first, second, *rest = flat(dst, *srcs)
    post, others = Attributes(), Args()
    for place, source in enumerate(rest):
        post.binary(algorithm, source.desc)
        others[operand(place)] = source
    binary(calls, algorithm, first, second, target, post, others)
