"""Primitives that treat every channel by numbers of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netpart.kernels.onednn.activation import operand
from netpart.kernels.onednn.calls import Args, Calls
from netpart.kernels.onednn.memory import Desc, Memory, last
from netpart.kernels.onednn.names import Algorithm, Arg, Norm, Prop
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.op import Array

GIVEN, OWN = Norm.GLOBAL_STATS | Norm.SCALE | Norm.SHIFT, Norm.SCALE | Norm.SHIFT
"""Flags: with statistics that are given, or those of the tensor; always with scale and shift, whose gradients tell."""


def normalise(
    calls: Calls, x: Array, y: Array | None, mean: Array, variance: Array, w: Array | None, b: Array | None,
    epsilon: float, flags: int,
) -> None:  # fmt: skip
    """y (None: nobody wants it) and, where they are not given, mean and variance."""
    desc, _ = _described(x, epsilon, flags)
    wanted = desc.arg(Arg.DST)
    target = calls.temporary(wanted) if y is None else Memory.of(y)
    made = calls.target(target, wanted)
    args: Args = {
        Arg.SRC: calls.ordered(Memory.of(x), desc.arg(Arg.SRC)),
        Arg.DST: made,
        Arg.MEAN: Memory.of(mean),
        Arg.VARIANCE: Memory.of(variance),
        Arg.SCALE: Memory.of(np.ones_like(mean) if w is None else w),
        Arg.SHIFT: Memory.of(np.zeros_like(mean) if b is None else b),
    }
    calls.add(desc, args)
    calls.reorder(made, target)


def normalise_gradient(
    calls: Calls, x: Array, dy: Array, dx: Array | None, mean: Array, variance: Array, w: Array | None,
    sums: Sequence[Array], epsilon: float, flags: int,
) -> None:  # fmt: skip
    """dx (None: nobody wants it) and ``sums``: of dy · unit, and of dy."""
    _, desc = _described(x, epsilon, flags)
    wanted = desc.arg(Arg.DIFF_SRC)
    target = calls.temporary(wanted) if dx is None else Memory.of(dx)
    made = calls.target(target, wanted)
    args: Args = {
        Arg.SRC: calls.ordered(Memory.of(x), desc.arg(Arg.SRC)),
        Arg.DIFF_DST: calls.ordered(Memory.of(dy), desc.arg(Arg.DIFF_DST)),
        Arg.DIFF_SRC: made,
        Arg.MEAN: Memory.of(mean),
        Arg.VARIANCE: Memory.of(variance),
        Arg.SCALE: Memory.of(np.ones_like(mean) if w is None else w),
        Arg.DIFF_SCALE: Memory.of(sums[0]),
        Arg.DIFF_SHIFT: Memory.of(sums[1]),
    }
    calls.add(desc, args)
    calls.reorder(made, target)


def _described(x: Array, epsilon: float, flags: int) -> tuple[PrimitiveDesc, PrimitiveDesc]:
    """Forward and backward. Raises Refused if one of them is."""
    desc = Desc.last(x.shape)
    args = desc, desc, float(epsilon), flags
    forward = PrimitiveDesc("batch_normalization_forward", Prop.FORWARD_TRAINING, *args)
    return forward, PrimitiveDesc("batch_normalization_backward", Prop.BACKWARD, desc, *args, forward)


def affine(calls: Calls, x: Array, factor: Array, shift: Array, y: Array) -> None:
    """Then y = x · factor + shift, channel by channel."""
    shape = (1, x.shape[1], *(1 for _ in x.shape[2:]))
    channels, tensor, target = Desc.strided(shape, last(shape)), Desc.last(x.shape), Memory.of(y)
    post = Attributes().binary(Algorithm.BINARY_ADD, channels)
    desc = PrimitiveDesc("binary", Algorithm.BINARY_MUL, tensor, channels, tensor, attributes=post)
    made = calls.target(target, tensor)
    args: Args = {
        Arg.SRC: calls.ordered(Memory.of(x), tensor),
        Arg.SRC_1: Memory(channels, factor),
        operand(0): Memory(channels, shift),
        Arg.DST: made,
    }
    calls.add(desc, args)
    calls.reorder(made, target)
