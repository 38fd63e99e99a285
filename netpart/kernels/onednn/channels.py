"""oneDNN's batch normalisation, forward and backward, in portions where a channel has many places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netpart.kernels.activation import Kind
from netpart.kernels.onednn.activation import append_activation
from netpart.kernels.onednn.activation_calls import add_post_ops
from netpart.kernels.onednn.affine import add_affine_sum
from netpart.kernels.onednn.calls import Args, Calls
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc
from netpart.kernels.onednn.names import Arg, NormFlag, PropKind
from netpart.kernels.onednn.portions import MOST, PortionSums, count_places, cut_portions, merge_moments, portion_desc
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.op import Array

GIVEN, OWN = NormFlag.GLOBAL_STATS | NormFlag.SCALE | NormFlag.SHIFT, NormFlag.SCALE | NormFlag.SHIFT
"""Flags: GIVEN statistics, or the tensor's OWN; always with scale and shift, as their gradients are the wanted sums."""


def add_batch_norm(
    calls: Calls, x: Array, y: Array | None, mean: Array, variance: Array, w: Array | None, b: Array | None,
    epsilon: float, flags: int, activation: Kind | None = None,
) -> None:  # fmt: skip
    """Append y (None: not wanted) and, unless ``flags`` are GIVEN, mean and variance."""
    post = append_activation(Attributes(), "relu") if activation == "relu" else None
    many = flags == OWN and count_places(x.shape) > MOST
    # Many places: the moments are computed in portions below, and are given to the normalisation.
    flags = GIVEN if many else flags
    desc, _ = _batch_norm_descs(MemoryDesc.last(x.shape, x.dtype.name), epsilon, flags, post)
    source = calls.ordered(DnnlMemory.of(x), desc.arg(Arg.SRC))
    if many:
        _add_moments(calls, source, x, mean, variance)
        if y is None:
            return
    wanted = desc.arg(Arg.DST)
    target = calls.temporary(wanted) if y is None else DnnlMemory.of(y)
    made = calls.target(target, wanted)
    args: Args = {
        Arg.SRC: source,
        Arg.DST: made,
        Arg.MEAN: DnnlMemory.of(mean),
        Arg.VARIANCE: DnnlMemory.of(variance),
        Arg.SCALE: DnnlMemory.of(np.ones_like(mean) if w is None else w),
        Arg.SHIFT: DnnlMemory.of(np.zeros_like(mean) if b is None else b),
    }
    calls.add(desc, args)
    if activation not in (None, "relu"):
        add_post_ops(calls, made, made, append_activation(Attributes(), activation))
    calls.reorder(made, target)


def _add_moments(calls: Calls, source: DnnlMemory, x: Array, mean: Array, variance: Array) -> None:
    """Append mean and variance of ``source``, x channels-last; the normalised portions, a by-product, are discarded."""
    shape = x.shape
    found = [
        (_batch_norm_descs(portion_desc(shape, size, x.dtype.name), 1.0, 0)[0], times)
        for size, times in cut_portions(shape)
    ]
    means = PortionSums(shape)
    variances = PortionSums(shape)
    args: dict[int, DnnlMemory] = {Arg.DST: calls.temporary(found[0][0].arg(Arg.DST))}
    wholes: dict[int, DnnlMemory] = {
        Arg.SRC: source,
        Arg.MEAN: DnnlMemory.of(means.rows),
        Arg.VARIANCE: DnnlMemory.of(variances.rows),
    }
    calls.along(found, args, wholes)
    calls.then(merge_moments(means, variances, mean, variance))


def add_batch_norm_gradient(
    calls: Calls, x: Array, dy: Array, dx: Array | None, mean: Array, variance: Array, w: Array | None,
    sums: Sequence[Array], epsilon: float, flags: int,
) -> None:  # fmt: skip
    """Append dx (None: not wanted) and ``sums``: Σ dy · unit and Σ dy."""
    many = count_places(x.shape) > MOST
    _, desc = _batch_norm_descs(MemoryDesc.last(x.shape, x.dtype.name), epsilon, GIVEN if many else flags)
    wanted = desc.arg(Arg.DIFF_SRC)
    target = calls.temporary(wanted) if dx is None else DnnlMemory.of(dx)
    made = calls.target(target, wanted)
    tensors: dict[int, DnnlMemory] = {
        Arg.SRC: calls.ordered(DnnlMemory.of(x), desc.arg(Arg.SRC)),
        Arg.DIFF_DST: calls.ordered(DnnlMemory.of(dy), desc.arg(Arg.DIFF_DST)),
        Arg.DIFF_SRC: made,
    }
    args: dict[int, DnnlMemory] = {
        Arg.MEAN: DnnlMemory.of(mean),
        Arg.VARIANCE: DnnlMemory.of(variance),
        Arg.SCALE: DnnlMemory.of(np.ones_like(mean) if w is None else w),
    }
    if many:
        _add_gradient_sums(calls, tensors, args, x, epsilon, sums, flags)
        if flags == OWN and dx is not None:
            _add_input_gradient(calls, tensors, x, mean, variance, w, sums, epsilon)
    else:
        calls.add(
            desc, {**tensors, **args, Arg.DIFF_SCALE: DnnlMemory.of(sums[0]), Arg.DIFF_SHIFT: DnnlMemory.of(sums[1])}
        )
    calls.reorder(made, target)


def _add_gradient_sums(
    calls: Calls, tensors: dict[int, DnnlMemory], args: dict[int, DnnlMemory], x: Array, epsilon: float,
    sums: Sequence[Array], flags: int,
) -> None:  # fmt: skip
    """Append ``sums``, in portions, and dx if ``flags`` are GIVEN."""
    shape = x.shape
    found = [
        (_batch_norm_descs(portion_desc(shape, size, x.dtype.name), epsilon, GIVEN)[1], times)
        for size, times in cut_portions(shape)
    ]
    rows = [PortionSums(shape) for _ in sums]
    wholes = dict(tensors)
    for arg, each in zip((Arg.DIFF_SCALE, Arg.DIFF_SHIFT), rows, strict=True):
        wholes[arg] = DnnlMemory.of(each.rows)
    if flags == OWN:
        # dx of own statistics depends on the sums of all portions: that of a portion is discarded.
        args = {**args, Arg.DIFF_SRC: calls.temporary(found[0][0].arg(Arg.DIFF_SRC))}
        del wholes[Arg.DIFF_SRC]
    calls.along(found, args, wholes)
    for each, out in zip(rows, sums, strict=True):
        calls.then(each.total(out))


def _add_input_gradient(
    calls: Calls, tensors: dict[int, DnnlMemory], x: Array, mean: Array, variance: Array, w: Array | None,
    sums: Sequence[Array], epsilon: float,
) -> None:  # fmt: skip
    """Append dx = w · rstd · (dy - Σ dy / n - unit / n · Σ dy·unit), as (x · factor + shift + dy) · slope."""
    factor, shift, slope = (np.empty_like(mean) for _ in range(3))
    n = count_places(x.shape)

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
    add_affine_sum(calls, tensors[Arg.SRC], x, factor, shift, tensors[Arg.DIFF_DST], slope, tensors[Arg.DIFF_SRC])


def _batch_norm_descs(
    desc: MemoryDesc, epsilon: float, flags: int, post: Attributes | None = None
) -> tuple[PrimitiveDesc, PrimitiveDesc]:
    """The forward primitive, followed by ``post``, and the backward one without it. Raises OneDnnRefused unless oneDNN
    has both."""
    args = desc, desc, float(epsilon), flags
    above = PrimitiveDesc("batch_normalization_forward", PropKind.FORWARD_TRAINING, *args)
    below = PrimitiveDesc("batch_normalization_backward", PropKind.BACKWARD, desc, *args, above)
    # The backward primitive is that of the forward one without the post-operation.
    if post is not None:
        above = PrimitiveDesc("batch_normalization_forward", PropKind.FORWARD_TRAINING, *args, attributes=post)
    return above, below
