"""Softmax over the features of each row."""

from __future__ import annotations

from netpart.kernels import softmax as reference
from netpart.kernels.onednn.calls import Calls, Fast
from netpart.kernels.onednn.memory import Memory
from netpart.kernels.onednn.names import Algorithm, Arg, Prop
from netpart.kernels.onednn.primitive import PrimitiveDesc
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
    """Then dx = y · (dy - Σ dy·y); dx may be one of the others."""
    described = dx.desc, dy.desc, y.desc, axis, _forward(y, y, axis)
    desc = PrimitiveDesc("softmax_backward", Algorithm.SOFTMAX_ACCURATE, *described)
    calls.add(desc, {Arg.DST: y, Arg.DIFF_DST: dy, Arg.DIFF_SRC: dx})


def _forward(x: Memory, y: Memory, axis: int) -> PrimitiveDesc:
    described = Algorithm.SOFTMAX_ACCURATE, x.desc, y.desc, axis
    return PrimitiveDesc("softmax_forward", Prop.FORWARD_TRAINING, *described)
