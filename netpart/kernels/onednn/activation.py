"""Element-wise activations: one primitive forward and one backward, for any order in memory."""

from __future__ import annotations

import numpy as np

from netpart.kernels import activation as reference
from netpart.kernels.activation import SIX, STANH_INNER, STANH_OUTER, Kind
from netpart.kernels.onednn.activation_calls import add_eltwise, add_post_ops, eltwise_forward
from netpart.kernels.onednn.activation_gradients import add_output_gradient, has_binary_gradient
from netpart.kernels.onednn.calls import Calls, OneDnnVerbs
from netpart.kernels.onednn.gelu import add_gelu_tanh, add_gelu_tanh_gradient, has_slow_tanh
from netpart.kernels.onednn.memory import DnnlMemory, flat_memories
from netpart.kernels.onednn.names import Algorithm, Arg
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.op import Array, Op

ALGORITHMS = {
    "relu": Algorithm.RELU, "relu6": Algorithm.CLIP_V2, "sigmoid": Algorithm.LOGISTIC, "tanh": Algorithm.TANH,
    "elu": Algorithm.ELU, "softplus": Algorithm.SOFT_RELU, "silu": Algorithm.SWISH, "mish": Algorithm.MISH,
    "gelu": Algorithm.GELU_ERF, "gelu_tanh": Algorithm.GELU_TANH,
}  # fmt: skip
"""The algorithms of all kinds but stanh, which takes several."""


class Activation(reference.Activation, OneDnnVerbs):
    """The verbs of the reference; x and y may be one array, and so may dy and dx."""

    def activation(self, kind: Kind, x: Array, y: Array, slope: float = 0.0) -> Op:
        """y = kind(x)."""

        def describe(calls: Calls) -> None:
            source, target = flat_memories(x, y)
            if _takes_logistic(kind, source):
                return add_gelu_tanh(calls, source, target)
            if kind != "stanh":
                return add_eltwise(calls, ALGORITHMS[kind], source, target, *_eltwise_factors(kind, slope))
            add_post_ops(calls, source, target, append_activation(Attributes(), kind))

        return self.attempt(describe, super().activation, kind, x, y, slope)

    def activation_gradient(self, kind: Kind, x: Array, y: Array, dy: Array, dx: Array, slope: float = 0.0) -> Op:
        """Overwrite dx = kind'(x) · dy."""

        def describe(calls: Calls) -> None:
            if has_binary_gradient(kind):
                # With a negative slope y is positive on both sides of 0, so that only x shows which side it was.
                side = x if kind == "relu" and slope < 0 else y
                return add_output_gradient(calls, kind, slope, *flat_memories(side, dy, dx))
            of_output = kind == "elu" and slope >= 0
            data, above, below = flat_memories(y if of_output else x, dy, dx)
            if _takes_logistic(kind, data):
                return add_gelu_tanh_gradient(calls, *(self.xp.ravel(array, order="K") for array in (x, dy, dx)))
            algorithm = Algorithm.ELU_DST if of_output else ALGORITHMS[kind]
            factors = _eltwise_factors(kind, slope)
            hint = eltwise_forward(algorithm, data, data, *factors)
            desc = PrimitiveDesc("eltwise_backward", algorithm, below.desc, above.desc, data.desc, *factors, hint)
            calls.add(desc, {Arg.DST if of_output else Arg.SRC: data, Arg.DIFF_DST: above, Arg.DIFF_SRC: below})

        return self.attempt(describe, super().activation_gradient, kind, x, y, dy, dx, slope)


def append_activation(post: Attributes, kind: Kind | None) -> Attributes:
    """``post`` with y = kind(y) appended; None: as it is."""
    if kind == "stanh":
        post.eltwise(Algorithm.LINEAR, STANH_INNER).eltwise(Algorithm.TANH).eltwise(Algorithm.LINEAR, STANH_OUTER)
    elif kind is not None:
        post.eltwise(ALGORITHMS[kind], *_eltwise_factors(kind, 0.0))
    return post


def _eltwise_factors(kind: Kind, slope: float) -> tuple[float, float]:
    """The parameters alpha and beta of the primitive of ``kind``."""
    return {"relu6": (0.0, float(SIX)), "relu": (slope, 0.0), "elu": (slope, 0.0)}.get(kind, (1.0, 0.0))


def _takes_logistic(kind: Kind, x: DnnlMemory) -> bool:
    """True if ``kind`` is the tanh form of gelu and takes less time by the logistic function."""
    if kind != "gelu_tanh" or x.array.dtype != np.float32:
        return False
    return has_slow_tanh(eltwise_forward(Algorithm.GELU_TANH, x, x, 0.0, 0.0).implementation)
