"""Softmax over the features of each row."""

from __future__ import annotations

import numpy as np

from netpart.kernels import softmax as reference
from netpart.kernels.onednn.activation import operand
from netpart.kernels.onednn.calls import Calls, Fast
from netpart.kernels.onednn.library import Refused
from netpart.kernels.onednn.memory import Desc, Memory, dense
from netpart.kernels.onednn.names import Algorithm, Arg, Prop
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.op import Array, Op
from netpart.kernels.softmax import grouped


class Softmax(reference.Softmax, Fast):
    """The verbs of the reference."""

    def softmax(self, x: Array, y: Array, groups: int = 1) -> Op:
        """y = exp(x) / Σ exp(x) within each group."""

        def describe(calls: Calls) -> None:
            softmax(calls, Memory.of(grouped(x, groups)), Memory.of(grouped(y, groups)), 1)

        return self.attempt(describe, lambda: super(Softmax, self).softmax(x, y, groups))

    def softmax_gradient(self, y: Array, dy: Array, dx: Array, groups: int = 1) -> Op:
        """Overwrites dx = y · (dy - Σ dy·y)."""

        def describe(calls: Calls) -> None:
            y_gf, dy_gf, dx_gf = (Memory.of(grouped(a, groups)) for a in (y, dy, dx))
            softmax_gradient(calls, y_gf, dy_gf, dx_gf, 1)

        return self.attempt(describe, lambda: super(Softmax, self).softmax_gradient(y, dy, dx, groups))


def softmax(calls: Calls, x: Memory, y: Memory, axis: int) -> None:
    """Then y = the softmax of x over ``axis``; they may be one."""
    calls.add(_forward(x, y, axis), {Arg.SRC: x, Arg.DST: y})


def softmax_gradient(calls: Calls, y: Memory, dy: Memory, dx: Memory, axis: int) -> None:
    """Then dx = y · (dy - Σ dy·y) over the last axis, ``axis``; dx may be one of the others."""
    described = dx.desc, dy.desc, y.desc, axis, _forward(y, y, axis)
    try:
        desc = PrimitiveDesc("softmax_backward", Algorithm.SOFTMAX_ACCURATE, *described)
    except Refused:
        return gradient_in_steps(calls, y, dy, dx)
    calls.add(desc, {Arg.DST: y, Arg.DIFF_DST: dy, Arg.DIFF_SRC: dx})


def gradient_in_steps(calls: Calls, y: Memory, dy: Memory, dx: Memory) -> None:
    """The same as a product, its sums and a difference: oneDNN's own primitive needs AVX-512.

    Raises Refused unless row lies behind row, without gaps.
    """
    shape, width = y.array.shape, y.array.shape[-1]
    if not y.desc == dy.desc == dx.desc == _dense(*shape):
        raise Refused(f"oneDNN: expected rows without gaps, got {shape} in strides of {y.array.strides} bytes")
    count, ones = y.array.size // width, Memory.of(np.ones((width, 1), np.float32))
    rows, sums = _dense(count, width), _dense(count, 1)
    products, totals = calls.temporary(rows), calls.temporary(sums)
    multiply = PrimitiveDesc("binary", Algorithm.BINARY_MUL, rows, rows, rows)
    add = PrimitiveDesc("matmul", rows, ones.desc, None, sums)
    post = Attributes().binary(Algorithm.BINARY_MUL, rows)
    subtract = PrimitiveDesc("binary", Algorithm.BINARY_SUB, rows, sums, rows, attributes=post)
    calls.along([(multiply, 1)], {Arg.SRC: y, Arg.SRC_1: dy, Arg.DST: products}, {})
    calls.add(add, {Arg.SRC: products, Arg.WEIGHTS: ones, Arg.DST: totals})
    calls.along([(subtract, 1)], {Arg.SRC: dy, Arg.SRC_1: totals, operand(0): y, Arg.DST: dx}, {})


def _forward(x: Memory, y: Memory, axis: int) -> PrimitiveDesc:
    described = Algorithm.SOFTMAX_ACCURATE, x.desc, y.desc, axis
    return PrimitiveDesc("softmax_forward", Prop.FORWARD_TRAINING, *described)


def _dense(*shape: int) -> Desc:
    return Desc.strided(shape, dense(shape))
