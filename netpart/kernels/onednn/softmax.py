"""Softmax over the features of each row."""

from __future__ import annotations

import numpy as np

from netpart.kernels import softmax as reference
from netpart.kernels.onednn.activation_calls import post_op_argument
from netpart.kernels.onednn.calls import Calls, OneDnnVerbs
from netpart.kernels.onednn.library import OneDnnRefused
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc, dense_strides
from netpart.kernels.onednn.names import Algorithm, Arg, PropKind
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.op import Array, Op
from netpart.kernels.softmax import group_rows


class Softmax(reference.Softmax, OneDnnVerbs):
    """The verbs of the reference."""

    def softmax(self, x: Array, y: Array, groups: int = 1) -> Op:
        """y = exp(x) / Σ exp(x) within each group."""

        def describe(calls: Calls) -> None:
            add_softmax(calls, DnnlMemory.of(group_rows(x, groups)), DnnlMemory.of(group_rows(y, groups)), 1)

        return self.attempt(describe, super().softmax, x, y, groups)

    def softmax_gradient(self, y: Array, dy: Array, dx: Array, groups: int = 1) -> Op:
        """Overwrite dx = y · (dy - Σ dy·y)."""

        def describe(calls: Calls) -> None:
            y_gf, dy_gf, dx_gf = (DnnlMemory.of(group_rows(a, groups)) for a in (y, dy, dx))
            add_softmax_gradient(calls, y_gf, dy_gf, dx_gf, 1)

        return self.attempt(describe, super().softmax_gradient, y, dy, dx, groups)


def add_softmax(calls: Calls, x: DnnlMemory, y: DnnlMemory, axis: int) -> None:
    """Append y = the softmax of x over ``axis``; y may be x."""
    calls.add(_softmax_forward(x, y, axis), {Arg.SRC: x, Arg.DST: y})


def add_softmax_gradient(calls: Calls, y: DnnlMemory, dy: DnnlMemory, dx: DnnlMemory, axis: int) -> None:
    """Append dx = y · (dy - Σ dy·y) over ``axis``, the last one; dx may be y or dy."""
    described = dx.desc, dy.desc, y.desc, axis, _softmax_forward(y, y, axis)
    try:
        desc = PrimitiveDesc("softmax_backward", Algorithm.SOFTMAX_ACCURATE, *described)
    except OneDnnRefused:
        return add_stepwise_gradient(calls, y, dy, dx)
    calls.add(desc, {Arg.DST: y, Arg.DIFF_DST: dy, Arg.DIFF_SRC: dx})


def add_stepwise_gradient(calls: Calls, y: DnnlMemory, dy: DnnlMemory, dx: DnnlMemory) -> None:
    """Append the same as a product, its sums and a difference, for CPUs without AVX-512, which the primitive needs.

    Raises OneDnnRefused unless the rows follow each other without gaps.
    """
    shape = y.array.shape
    width = y.array.shape[-1]
    if not y.desc == dy.desc == dx.desc == _dense_desc(*shape):
        raise OneDnnRefused(f"oneDNN: expected rows without gaps, got {shape} in strides of {y.array.strides} bytes")
    count = y.array.size // width
    ones = DnnlMemory.of(np.ones((width, 1), np.float32))
    rows = _dense_desc(count, width)
    sums = _dense_desc(count, 1)
    products = calls.temporary(rows)
    totals = calls.temporary(sums)
    multiply = PrimitiveDesc("binary", Algorithm.BINARY_MUL, rows, rows, rows)
    add = PrimitiveDesc("matmul", rows, ones.desc, None, sums)
    post = Attributes().binary(Algorithm.BINARY_MUL, rows)
    subtract = PrimitiveDesc("binary", Algorithm.BINARY_SUB, rows, sums, rows, attributes=post)
    calls.along([(multiply, 1)], {Arg.SRC: y, Arg.SRC_1: dy, Arg.DST: products}, {})
    calls.add(add, {Arg.SRC: products, Arg.WEIGHTS: ones, Arg.DST: totals})
    calls.along([(subtract, 1)], {Arg.SRC: dy, Arg.SRC_1: totals, post_op_argument(0): y, Arg.DST: dx}, {})


def _softmax_forward(x: DnnlMemory, y: DnnlMemory, axis: int) -> PrimitiveDesc:
    described = Algorithm.SOFTMAX_ACCURATE, x.desc, y.desc, axis
    return PrimitiveDesc("softmax_forward", PropKind.FORWARD_TRAINING, *described)


def _dense_desc(*shape: int) -> MemoryDesc:
    return MemoryDesc.strided(shape, dense_strides(shape))
