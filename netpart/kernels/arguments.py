"""Arguments of the verbs that take many: one named tuple per verb, filled by a layer and taken by every kernel set.

Shapes use B rows, C channels and ... space. An array that is marked "or None" is absent where the layer has no such
parameter, or where the gradient is not wanted.
"""

from __future__ import annotations

from typing import NamedTuple

from netpart.kernels.activation import Kind
from netpart.kernels.op import Array, Box, Clock
from netpart.kernels.philox import UniformDraws


class MomentNormArguments(NamedTuple):
    """Arguments of ``moment_norm``: batch normalisation of x by moments that are known."""

    x: Array  # (B, C, ...), perhaps a view
    s: Array  # (C,), the centre about which the moments are taken: the running mean
    m: Array  # (1, C, 2), both moments of the whole batch
    mean: Array  # (C,), output, kept for the gradient
    variance: Array  # (C,), output, at least 0, kept for the gradient
    w: Array | None  # (C,) or None: the scale
    b: Array | None  # (C,) or None: the shift
    y: Array  # the shape of x, output
    rstd: Array  # (C,), output, kept for the gradient: 1 / sqrt(variance + epsilon)
    epsilon: float  # above 0, added to the variance
    activation: Kind | None = None  # computed on y in place


class MomentNormGradientArguments(NamedTuple):
    """Arguments of ``moment_norm_gradient``: what ``moment_norm`` kept, dy, and the gradients to overwrite."""

    x: Array  # (B, C, ...), as given to moment_norm
    m: Array  # (1, C, 2), as given to moment_norm
    mean: Array  # (C,), as moment_norm left it
    variance: Array  # (C,), as moment_norm left it
    w: Array | None  # (C,) or None, as given to moment_norm
    rstd: Array  # (C,), as moment_norm left it
    dy: Array  # the shape of x
    dm: Array | None  # (1, C, 2) or None, output: the gradient of both moments
    dw: Array | None  # (C,) or None, output
    db: Array | None  # (C,) or None, output
    dx: Array | None  # the shape of x or None, output: the part of the gradient that does not pass through the moments
    epsilon: float  # as given to moment_norm


class BatchNormArguments(NamedTuple):
    """Arguments of ``batch_norm``: moments of x and batch normalisation of its box ``own``."""

    x: Array  # (B, C, ...), perhaps a view: all elements that the moments are taken over
    s: Array  # (C,), the centre about which the moments are taken: the running mean
    m: Array  # (1, C, 2), output, kept for the gradient and the running statistics
    mean: Array  # (C,), output, kept for the gradient
    variance: Array  # (C,), output, at least 0, kept for the gradient
    w: Array | None  # (C,) or None: the scale
    b: Array | None  # (C,) or None: the shift
    y: Array  # the shape of x[own], output
    rstd: Array  # (C,), output, kept for the gradient: 1 / sqrt(variance + epsilon)
    own: Box  # the box of x that y covers
    epsilon: float  # above 0, added to the variance
    activation: Kind | None = None  # computed on y in place

    def after_moments(self) -> MomentNormArguments:
        """The arguments of the rest, once m is computed."""
        return MomentNormArguments(
            self.x[self.own], self.s, self.m, self.mean, self.variance, self.w, self.b, self.y, self.rstd,
            self.epsilon, self.activation,
        )  # fmt: skip


class BatchNormGradientArguments(NamedTuple):
    """Arguments of ``batch_norm_gradient``: what ``batch_norm`` kept, dy, and the gradients to overwrite."""

    x: Array  # (B, C, ...), as given to batch_norm
    s: Array  # (C,), as given to batch_norm
    m: Array  # (1, C, 2), as batch_norm left it
    mean: Array  # (C,), as batch_norm left it
    variance: Array  # (C,), as batch_norm left it
    w: Array | None  # (C,) or None, as given to batch_norm
    rstd: Array  # (C,), as batch_norm left it
    dy: Array  # the shape of x[own]; may be overwritten if ``through`` is set
    dm: Array  # (1, C, 2), room for the gradient of both moments
    dw: Array | None  # (C,) or None, output
    db: Array | None  # (C,) or None, output
    dx: Array | None  # the shape of x or None, output
    own: Box  # as given to batch_norm
    epsilon: float  # as given to batch_norm
    b: Array | None = None  # (C,) or None, as given to batch_norm; read only if ``through`` is set
    through: Kind | None = None  # "relu": dy is the gradient of the relu of y; None: of y

    def before_moments(self) -> MomentNormGradientArguments:
        """The arguments of the first half: everything but the gradient of x."""
        dm = None if self.dx is None else self.dm
        return MomentNormGradientArguments(
            self.x[self.own], self.m, self.mean, self.variance, self.w, self.rstd, self.dy, dm, self.dw, self.db, None,
            self.epsilon,
        )  # fmt: skip


class BatchNormaliseArguments(NamedTuple):
    """Arguments of ``batch_normalise``: batch normalisation by given statistics."""

    x: Array  # (B, C, ...), perhaps a view
    mean: Array  # (C,)
    variance: Array  # (C,), at least 0
    w: Array | None  # (C,) or None: the scale
    b: Array | None  # (C,) or None: the shift
    y: Array  # the shape of x, output
    rstd: Array  # (C,), output, kept for the gradient: 1 / sqrt(variance + epsilon)
    epsilon: float  # above 0, added to the variance
    activation: Kind | None = None  # computed on y in place


class NormaliseArguments(NamedTuple):
    """Arguments of ``normalise``: normalisation of blocks of neighbouring elements, each by its own statistics."""

    x: Array  # contiguous, whole blocks
    w: Array | None  # the scale or None, of the rank of y, with extent 1 on the axes it does not depend on
    b: Array | None  # the shift or None, like w
    y: Array  # the shape of x[own], output
    unit: Array  # the shape of x, contiguous, output, kept for the gradient: (x - mean) · rstd
    rstd: Array  # (blocks, 1), output, kept for the gradient: 1 / sqrt(variance + epsilon)
    blocks: int  # the number of blocks in x
    own: Box  # the box of x that y covers
    epsilon: float  # above 0, added to the variance
    centred: bool  # False: the mean counts as 0, as in RMS normalisation


class NormaliseGradientArguments(NamedTuple):
    """Arguments of ``normalise_backward``: what ``normalise`` kept, dy, and the gradients to overwrite."""

    unit: Array  # as normalise left it
    rstd: Array  # as normalise left it
    w: Array | None  # as given to normalise
    dy: Array  # the shape of unit[own]
    dx: Array | None  # the shape of unit or None, output
    dw: Array | None  # like the scale or None, output
    db: Array | None  # like the shift or None, output
    own: Box  # as given to normalise
    centred: bool  # as given to normalise
    add: bool = False  # dx is added to instead


class AttentionDropout(NamedTuple):
    """Dropout of the weights of ``attention``, with the arguments of ``dropout``."""

    weights: Array  # the shape of p = (..., T, S), output, kept for the gradient: p · its random factors
    draw: UniformDraws
    ratio: float
    clock: Clock


class AttentionArguments(NamedTuple):
    """Arguments of ``attention``, and of ``attention_gradient`` in addition to the gradients: T queries, S keys."""

    q: Array  # (..., T, D), queries
    k: Array  # (..., S, D), keys
    v: Array  # (..., S, E), values
    y: Array  # (..., T, E), output
    p: Array  # output, kept for the gradient, of the shape that ``attention_keeps`` returns
    scale: float  # factor of the scores q kᵀ
    first: int | None = None  # query i sees the keys up to first + i; None: all keys
    turns: tuple[Array, Array] = (
        None,
        None,
    )  # with ``turns_rows``: angles as in ``rotate``, first to rotate q and k by
    mask: Array | None = None  # (B, S) or None: the keys whose number is ``pad`` are not read
    pad: int = 0
    dropout: AttentionDropout | None = None  # or None: y is computed from p itself


class LrnFactors(NamedTuple):
    """Factors of ``lrn`` and ``lrn_gradient``: the window of channels and the constants of the formula."""

    offset: int  # channel j of y, scale and dy is channel j + offset of x and dx
    local_size: int  # odd, the channels of a window
    alpha: float
    beta: float
    knorm: float
