"""Primitives that treat every channel by numbers of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netpart.kernels.activation import Kind
from netpart.kernels.onednn.activation import eltwise, factors, forward
from netpart.kernels.onednn.affine import affine_sum
from netpart.kernels.onednn.calls import Args, Calls
from netpart.kernels.onednn.memory import Desc, Memory
from netpart.kernels.onednn.names import Arg, Norm, Prop
from netpart.kernels.onednn.portions import MOST, Sums, places, portion, portions, together
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.op import Array
from netpart.spec import Shape

GIVEN, OWN = Norm.GLOBAL_STATS | Norm.SCALE | Norm.SHIFT, Norm.SCALE | Norm.SHIFT
"""Flags: with statistics that are given, or those of the tensor; always with scale and shift, whose gradients tell."""


def normalise(
    calls: Calls, x: Array, y: Array | None, mean: Array, variance: Array, w: Array | None, b: Array | None,
    epsilon: float, flags: int, activation: Kind | None = None,
) -> None:  # fmt: skip
    """y (None: nobody wants it) and, where they are not given, mean and variance."""
    post = Attributes().eltwise(forward("relu")) if activation == "relu" else None
    many = flags == OWN and places(x.shape) > MOST
    flags = GIVEN if many else flags
    desc, _ = _described(Desc.last(x.shape), epsilon, flags, post)
    source = calls.ordered(Memory.of(x), desc.arg(Arg.SRC))
    if many:
        _moments(calls, source, x.shape, mean, variance)
        if y is None:
            return
    wanted = desc.arg(Arg.DST)
    target = calls.temporary(wanted) if y is None else Memory.of(y)
    made = calls.target(target, wanted)
    args: Args = {
        Arg.SRC: source,
        Arg.DST: made,
        Arg.MEAN: Memory.of(mean),
        Arg.VARIANCE: Memory.of(variance),
        Arg.SCALE: Memory.of(np.ones_like(mean) if w is None else w),
        Arg.SHIFT: Memory.of(np.zeros_like(mean) if b is None else b),
    }
    calls.add(desc, args)
    if activation not in (None, "relu"):
        eltwise(calls, forward(activation), made, made, *factors(activation, 0.0))
    calls.reorder(made, target)


def _moments(calls: Calls, source: Memory, shape: Shape, mean: Array, variance: Array) -> None:
    """mean and variance of ``source``, which lies channels-last; what is normalised on the way is thrown away."""
    found = [(_described(portion(shape, size), 1.0, 0)[0], times) for size, times in portions(shape)]
    means, variances = Sums(shape), Sums(shape)
    args: dict[int, Memory] = {Arg.DST: calls.temporary(found[0][0].arg(Arg.DST))}
    wholes: dict[int, Memory] = {
        Arg.SRC: source,
        Arg.MEAN: Memory.of(means.rows),
        Arg.VARIANCE: Memory.of(variances.rows),
    }
    calls.along(found, args, wholes)
    calls.then(together(means, variances, mean, variance))


def normalise_gradient(
    calls: Calls, x: Array, dy: Array, dx: Array | None, mean: Array, variance: Array, w: Array | None,
    sums: Sequence[Array], epsilon: float, flags: int,
) -> None:  # fmt: skip
    """dx (None: nobody wants it) and ``sums``: of dy · unit, and of dy."""
    many = places(x.shape) > MOST
    _, desc = _described(Desc.last(x.shape), epsilon, GIVEN if many else flags)
    wanted = desc.arg(Arg.DIFF_SRC)
    target = calls.temporary(wanted) if dx is None else Memory.of(dx)
    made = calls.target(target, wanted)
    tensors: dict[int, Memory] = {
        Arg.SRC: calls.ordered(Memory.of(x), desc.arg(Arg.SRC)),
        Arg.DIFF_DST: calls.ordered(Memory.of(dy), desc.arg(Arg.DIFF_DST)),
        Arg.DIFF_SRC: made,
    }
    args: dict[int, Memory] = {
        Arg.MEAN: Memory.of(mean),
        Arg.VARIANCE: Memory.of(variance),
        Arg.SCALE: Memory.of(np.ones_like(mean) if w is None else w),
    }
    if many:
        _sums(calls, tensors, args, x.shape, epsilon, sums, flags)
        if flags == OWN and dx is not None:
            _own_gradient(calls, tensors, x.shape, mean, variance, w, sums, epsilon)
    else:
        calls.add(desc, {**tensors, **args, Arg.DIFF_SCALE: Memory.of(sums[0]), Arg.DIFF_SHIFT: Memory.of(sums[1])})
    calls.reorder(made, target)


def _sums(
    calls: Calls, tensors: dict[int, Memory], args: dict[int, Memory], shape: Shape, epsilon: float,
    sums: Sequence[Array], flags: int,
) -> None:  # fmt: skip
    """``sums``; and, where the statistics are given, dx."""
    found = [(_described(portion(shape, size), epsilon, GIVEN)[1], times) for size, times in portions(shape)]
    rows = [Sums(shape) for _ in sums]
    wholes = dict(tensors)
    for arg, each in zip((Arg.DIFF_SCALE, Arg.DIFF_SHIFT), rows, strict=True):
        wholes[arg] = Memory.of(each.rows)
    if flags == OWN:
        args = {**args, Arg.DIFF_SRC: calls.temporary(found[0][0].arg(Arg.DIFF_SRC))}
        del wholes[Arg.DIFF_SRC]
    calls.along(found, args, wholes)
    for each, out in zip(rows, sums, strict=True):
        calls.then(each.total(out))


def _own_gradient(
    calls: Calls, tensors: dict[int, Memory], shape: Shape, mean: Array, variance: Array, w: Array | None,
    sums: Sequence[Array], epsilon: float,
) -> None:  # fmt: skip
    """dx = w · rstd · (dy - Σ dy / n - unit / n · Σ dy·unit), as (x · factor + shift + dy) · slope."""
    factor, shift, slope = (np.empty_like(mean) for _ in range(3))
    n = places(shape)

    def prepare() -> None:
        np.add(variance, epsilon, out=slope)
        np.sqrt(slope, out=slope)
        np.divide(1, slope, out=slope)
        np.multiply(slope, sums[0], out=factor)
        np.divide(factor, -n, out=factor)
        np.multiply(factor, mean, out=shift)
        np.add(shift, sums[1] / n, out=shift)
        np.negative(shift, out=shift)
        np.multiply(slope, 1 if w is None else w, out=slope)

    calls.then(prepare)
    affine_sum(calls, tensors[Arg.SRC], shape, factor, shift, tensors[Arg.DIFF_DST], slope, tensors[Arg.DIFF_SRC])


def _described(
    desc: Desc, epsilon: float, flags: int, post: Attributes | None = None
) -> tuple[PrimitiveDesc, PrimitiveDesc]:
    """Forward, with ``post`` behind it, and backward of what is before that. Raises Refused if one of them is."""
    args = desc, desc, float(epsilon), flags
    above = PrimitiveDesc("batch_normalization_forward", Prop.FORWARD_TRAINING, *args)
    below = PrimitiveDesc("batch_normalization_backward", Prop.BACKWARD, desc, *args, above)
    if post is not None:
        above = PrimitiveDesc("batch_normalization_forward", Prop.FORWARD_TRAINING, *args, attributes=post)
    return above, below
