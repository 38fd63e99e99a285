"""Element-wise activations: one primitive forward and one backward, for any order in memory."""

from __future__ import annotations

import numpy as np

from netpart.kernels import activation as reference
from netpart.kernels.activation import SIX, STANH_INNER, STANH_OUTER, Kind
from netpart.kernels.onednn.activation_calls import add_eltwise, add_post_ops, eltwise_forward, post_op_argument
from netpart.kernels.onednn.calls import Args, Calls, OneDnnVerbs
from netpart.kernels.onednn.gelu import add_gelu_tanh, add_gelu_tanh_gradient, has_slow_tanh
from netpart.kernels.onednn.memory import DnnlMemory, flat_memories
from netpart.kernels.onednn.names import Algorithm, Arg
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.op import Array, Op

FROM_INPUT = {
    "silu": Algorithm.SWISH,
    "mish": Algorithm.MISH,
    "gelu": Algorithm.GELU_ERF,
    "gelu_tanh": Algorithm.GELU_TANH,
}
"""Kinds whose gradient reads x."""

FROM_OUTPUT = {
    "relu": (Algorithm.RELU, Algorithm.RELU_DST),
    "relu6": (Algorithm.CLIP_V2, Algorithm.CLIP_V2_DST),
    "sigmoid": (Algorithm.LOGISTIC, Algorithm.LOGISTIC_DST),
    "tanh": (Algorithm.TANH, Algorithm.TANH_DST),
    "elu": (Algorithm.ELU, Algorithm.ELU_DST),
    "softplus": (Algorithm.SOFT_RELU, Algorithm.SOFT_RELU),
}
"""Kinds whose gradient reads y, with their forward and gradient algorithms; softplus's gradient, of x, is not used."""


class Activation(reference.Activation, OneDnnVerbs):
    """The verbs of the reference; x and y may be one array, and so may dy and dx."""

    def activation(self, kind: Kind, x: Array, y: Array, slope: float = 0.0) -> Op:
        """y = kind(x)."""

        def describe(calls: Calls) -> None:
            source, target = flat_memories(x, y)
            if _takes_logistic(kind, source):
                return add_gelu_tanh(calls, source, target)
            if kind != "stanh":
                return add_eltwise(calls, _eltwise_algorithm(kind), source, target, *_eltwise_factors(kind, slope))
            add_post_ops(calls, source, target, append_activation(Attributes(), kind))

        return self.attempt(describe, super().activation, kind, x, y, slope)

    def activation_gradient(self, kind: Kind, x: Array, y: Array, dy: Array, dx: Array, slope: float = 0.0) -> Op:
        """Overwrite dx = kind'(x) · dy."""

        def describe(calls: Calls) -> None:
            if kind in ("stanh", "softplus"):
                return _add_output_gradient(calls, kind, *flat_memories(y, dy, dx))
            algorithm, of_output = _gradient_algorithm(kind, slope)
            alpha, beta = _eltwise_factors(kind, slope)
            data, above, below = flat_memories(y if of_output else x, dy, dx)
            if _takes_logistic(kind, data):
                return add_gelu_tanh_gradient(calls, *(self.xp.ravel(array, order="K") for array in (x, dy, dx)))
            hint = eltwise_forward(algorithm, data, data, alpha, beta)
            args = algorithm, below.desc, above.desc, data.desc, alpha, beta, hint
            read = Arg.DST if of_output else Arg.SRC
            calls.add(PrimitiveDesc("eltwise_backward", *args), {read: data, Arg.DIFF_DST: above, Arg.DIFF_SRC: below})

        return self.attempt(describe, super().activation_gradient, kind, x, y, dy, dx, slope)


def append_activation(post: Attributes, kind: Kind | None) -> Attributes:
    """``post`` with y = kind(y) appended; None: as it is."""
    if kind == "stanh":
        post.eltwise(Algorithm.LINEAR, STANH_INNER).eltwise(Algorithm.TANH).eltwise(Algorithm.LINEAR, STANH_OUTER)
    elif kind is not None:
        post.eltwise(_eltwise_algorithm(kind), *_eltwise_factors(kind, 0.0))
    return post


def _eltwise_algorithm(kind: Kind) -> Algorithm:
    """The algorithm of ``kind``, which is not stanh: that takes several."""
    return FROM_INPUT[kind] if kind in FROM_INPUT else FROM_OUTPUT[kind][0]


def _gradient_algorithm(kind: Kind, slope: float) -> tuple[Algorithm, bool]:
    """The algorithm of the gradient of ``kind``, and True if it reads y rather than x."""
    if kind in FROM_INPUT:
        return FROM_INPUT[kind], False
    from_input, from_output = FROM_OUTPUT[kind]
    return (from_input, False) if slope < 0 else (from_output, True)


def _eltwise_factors(kind: Kind, slope: float) -> tuple[float, float]:
    """The parameters alpha and beta of the primitive of ``kind``."""
    return {"relu6": (0.0, float(SIX)), "relu": (slope, 0.0), "elu": (slope, 0.0)}.get(kind, (1.0, 0.0))


def _add_output_gradient(calls: Calls, kind: Kind, y: DnnlMemory, dy: DnnlMemory, dx: DnnlMemory) -> None:
    """Append dx = dy · kind'(x), in one pass, for a kind' that is a function of y that oneDNN does not have."""
    if kind == "stanh":  # A·B - B/A · y²
        post = Attributes().binary(Algorithm.BINARY_MUL, y.desc)
        post.eltwise(Algorithm.LINEAR, -STANH_INNER / STANH_OUTER, STANH_OUTER * STANH_INNER)
        others: Args = {post_op_argument(0): y, post_op_argument(2): dy}
    else:  # softplus: 1 - exp(-y)
        post = Attributes().eltwise(Algorithm.LINEAR, -1.0).eltwise(Algorithm.EXP).eltwise(Algorithm.LINEAR, -1.0, 1.0)
        others = {post_op_argument(3): dy}
    add_post_ops(calls, y, dx, post.binary(Algorithm.BINARY_MUL, dy.desc), others)


def _takes_logistic(kind: Kind, x: DnnlMemory) -> bool:
    """True if ``kind`` is the tanh form of gelu and takes less time by the logistic function."""
    if kind != "gelu_tanh" or x.array.dtype != np.float32:
        return False
    return has_slow_tanh(eltwise_forward(Algorithm.GELU_TANH, x, x, 0.0, 0.0).implementation)
