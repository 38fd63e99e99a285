"""Affine maps y = x · factor + shift of channels-last tensors, with a factor and a shift for each channel."""

from __future__ import annotations

from math import gcd

import numpy as np

from netpart.kernels.onednn.activation_calls import post_op_argument
from netpart.kernels.onednn.calls import Calls
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc
from netpart.kernels.onednn.names import Algorithm, Arg
from netpart.kernels.onednn.portions import count_places
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.op import Array

LINE = 1024
"""The wanted number of elements of a matrix row; starting a row of few elements takes longer than computing it."""


def add_affine(calls: Calls, x: Array, factor: Array, shift: Array, y: Array, add: bool = False) -> None:
    """Append y = x · factor + shift; with ``add``, y += that."""
    tensor = MemoryDesc.last(x.shape, x.dtype.name)
    target = DnnlMemory.of(y)
    lines = ChannelLines(x)
    made = calls.target(target, tensor)
    post = Attributes().binary(Algorithm.BINARY_ADD, lines.channels)
    if add:
        # The post-operation sum adds to ``made``, which has to hold y first if it is a temporary.
        calls.reorder(target, made)
        post.sum()
    desc = lines.product(post)
    args: dict[int, DnnlMemory] = {
        Arg.SRC_1: lines.repeated(calls, factor),
        post_op_argument(0): lines.repeated(calls, shift),
    }
    calls.along([(desc, 1)], args, {Arg.SRC: calls.ordered(DnnlMemory.of(x), tensor), Arg.DST: made})
    calls.reorder(made, target)


def add_affine_sum(
    calls: Calls, x: DnnlMemory, like: Array, factor: Array, shift: Array, z: DnnlMemory, slope: Array, y: DnnlMemory
) -> None:
    """Append y = (x · factor + shift + z) · slope; x, y and z are channels-last, of shape and elements ``like``."""
    lines = ChannelLines(like)
    post = Attributes().binary(Algorithm.BINARY_ADD, lines.channels).binary(Algorithm.BINARY_ADD, lines.tensor)
    desc = lines.product(post.binary(Algorithm.BINARY_MUL, lines.channels))
    factors = {Arg.SRC_1: factor, post_op_argument(0): shift, post_op_argument(2): slope}
    args: dict[int, DnnlMemory] = {arg: lines.repeated(calls, array) for arg, array in factors.items()}
    calls.along([(desc, 1)], args, {Arg.SRC: x, post_op_argument(1): z, Arg.DST: y})


class ChannelLines:
    """A channels-last tensor seen as a matrix, each row of which is several consecutive places."""

    def __init__(self, like: Array) -> None:
        shape = like.shape
        # The places of a row have to divide all places; a power of two shares most factors with usual extents.
        fitting = 1 << max(0, (LINE // shape[1]).bit_length() - 1)
        self.repeats = gcd(count_places(shape), fitting)
        width = self.repeats * shape[1]
        self.tensor = MemoryDesc.strided((count_places(shape) // self.repeats, width), (width, 1), like.dtype.name)
        self.channels = MemoryDesc.strided((1, width), (width, 1))

    def product(self, post: Attributes) -> PrimitiveDesc:
        """The primitive post(tensor · channels)."""
        tensor = self.tensor
        channels = self.channels
        return PrimitiveDesc("binary", Algorithm.BINARY_MUL, tensor, channels, tensor, attributes=post)

    def repeated(self, calls: Calls, values: Array) -> DnnlMemory:
        """A row for ``values`` (C,); appends a copy of them to each of its places."""
        row: Array = np.empty((self.repeats, *values.shape), values.dtype)
        calls.then(lambda: np.copyto(row, values))
        return DnnlMemory(self.channels, row)
