"""Gradients of activations whose derivative is a function of the output y, each in one pass over memory.

    relu     y > 0 (else the slope)    sigmoid   (1 - y) · y    stanh      A·B - B/A · y²
    relu6    (6 - y) · y > 0           tanh      1 - y²         softplus   1 - exp(-y)

Each is a binary primitive with post-operations. oneDNN's own gradients put registers on the stack and take them back
for each vector, which takes twice as long where they do not lie at lines of the cache, as on the stack of a second
thread: two threads take as long as one (35 and 39 us for 131,072 numbers of a relu, this 22 and 14). Of the kinds whose
derivative is a function of y, elu is left to oneDNN.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from netpart.kernels.activation import SIX, STANH_INNER, STANH_OUTER, Kind
from netpart.kernels.onednn.activation_calls import add_binary, post_op_argument
from netpart.kernels.onednn.calls import Args, Calls
from netpart.kernels.onednn.memory import DnnlMemory
from netpart.kernels.onednn.names import Algorithm
from netpart.kernels.onednn.primitive import Attributes

_Operand = Literal["y", "zero", "dy"]


class _Step(NamedTuple):
    """One operation on all numbers: with those of ``operand``, or of each alone by ``alpha`` and ``beta``."""

    algorithm: Algorithm
    operand: _Operand | None = None
    alpha: float = 0.0
    beta: float = 0.0


# A binary primitive takes two operands: the least of y and y is y, and y times y is its square.
_SAME, _TIMES_Y = _Step(Algorithm.BINARY_MIN, "y"), _Step(Algorithm.BINARY_MUL, "y")
_IS_POSITIVE = _Step(Algorithm.BINARY_GT, "zero")


def _linear(factor: float, constant: float = 0.0) -> _Step:
    return _Step(Algorithm.LINEAR, None, factor, constant)


_DERIVATIVES: dict[Kind, list[_Step]] = {
    "relu": [_IS_POSITIVE],
    "relu6": [_SAME, _linear(-1.0, float(SIX)), _TIMES_Y, _IS_POSITIVE],
    "sigmoid": [_SAME, _linear(-1.0, 1.0), _TIMES_Y],
    "tanh": [_TIMES_Y, _linear(-1.0, 1.0)],
    "stanh": [_TIMES_Y, _linear(-STANH_INNER / STANH_OUTER, STANH_OUTER * STANH_INNER)],
    "softplus": [_SAME, _linear(-1.0), _Step(Algorithm.EXP), _linear(-1.0, 1.0)],
}
"""The steps from y to the derivative; the first takes y and its operand."""


def has_binary_gradient(kind: Kind) -> bool:
    """True if ``add_output_gradient`` computes the gradient of ``kind``."""
    return kind in _DERIVATIVES


def add_output_gradient(calls: Calls, kind: Kind, slope: float, y: DnnlMemory, dy: DnnlMemory, dx: DnnlMemory) -> None:
    """Append dx = kind'(y) · dy, for flat tensors of one type; dx may be dy. ``slope`` is relu's for y ≤ 0."""
    memories: dict[str, DnnlMemory] = {"y": y, "zero": DnnlMemory.of(np.zeros(1, y.array.dtype)), "dy": dy}
    first, *rest = _DERIVATIVES[kind]
    # 1 and 0 become 1 and -1, and then 1 and the slope, which is exact.
    sloped = [_linear(2.0, -1.0), _Step(Algorithm.RELU, None, -slope)] if kind == "relu" and slope else []
    post, others = Attributes(), Args()
    for place, step in enumerate([*rest, *sloped, _Step(Algorithm.BINARY_MUL, "dy")]):
        if step.operand is None:
            post.eltwise(step.algorithm, step.alpha, step.beta)
        else:
            others[post_op_argument(place)] = memories[step.operand]
            post.binary(step.algorithm, memories[step.operand].desc)
    add_binary(calls, first.algorithm, y, memories[first.operand or "y"], dx, post, others)
