"""Element-wise activations: one primitive forward and one backward, whatever the order in memory."""

from __future__ import annotations

from netpart.kernels import activation as reference
from netpart.kernels.activation import SIX, STANH_INNER, STANH_OUTER, Kind
from netpart.kernels.onednn.calls import Calls, Fast
from netpart.kernels.onednn.library import Refused
from netpart.kernels.onednn.memory import Memory, flat
from netpart.kernels.onednn.names import Algorithm, Arg, Prop
from netpart.kernels.onednn.primitive import PrimitiveDesc
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
    "softplus": (Algorithm.SOFT_RELU, None),
}
"""Kinds whose gradient reads y, and what computes it; nothing does for softplus."""


class Activation(reference.Activation, Fast):
    """The verbs of the reference; x and y may be one array, and so may dy and dx."""

    def activation(self, kind: Kind, x: Array, y: Array, slope: float = 0.0) -> Op:
        """y = kind(x)."""

        def describe(calls: Calls) -> None:
            source, target = flat(x, y)
            if kind != "stanh":
                return eltwise(calls, forward(kind), source, target, *factors(kind, slope))
            eltwise(calls, Algorithm.LINEAR, source, target, STANH_INNER)
            eltwise(calls, Algorithm.TANH, target, target)
            eltwise(calls, Algorithm.LINEAR, target, target, STANH_OUTER)

        return self.attempt(describe, lambda: super(Activation, self).activation(kind, x, y, slope))

    def activation_gradient(self, kind: Kind, x: Array, y: Array, dy: Array, dx: Array, slope: float = 0.0) -> Op:
        """Overwrites dx = kind'(x) · dy."""

        def describe(calls: Calls) -> None:
            if kind == "stanh":
                return stanh_gradient(calls, *flat(y, dy, dx))
            algorithm, of_output = backward(kind, slope)
            alpha, beta = factors(kind, slope)
            data, above, below = flat(y if of_output else x, dy, dx)
            hint = _forward(algorithm, data, data, alpha, beta)
            args = algorithm, below.desc, above.desc, data.desc, alpha, beta, hint
            read = Arg.DST if of_output else Arg.SRC
            calls.add(PrimitiveDesc("eltwise_backward", *args), {read: data, Arg.DIFF_DST: above, Arg.DIFF_SRC: below})

        return self.attempt(describe, lambda: super(Activation, self).activation_gradient(kind, x, y, dy, dx, slope))


def forward(kind: Kind) -> Algorithm:
    """What computes ``kind``. Raises Refused for stanh, which takes several."""
    if kind in FROM_INPUT:
        return FROM_INPUT[kind]
    if kind not in FROM_OUTPUT:
        raise Refused(f"oneDNN: expected an activation of one primitive, got {kind}")
    return FROM_OUTPUT[kind][0]


def backward(kind: Kind, slope: float) -> tuple[Algorithm, bool]:
    """What computes the gradient of ``kind``, and whether it reads y rather than x."""
    if kind in FROM_INPUT:
        return FROM_INPUT[kind], False
    from_input, from_output = FROM_OUTPUT[kind]
    if from_output is None:
        raise Refused(f"oneDNN: expected an activation whose gradient reads y or x alone, got {kind}")
    return (from_input, False) if slope < 0 else (from_output, True)


def factors(kind: Kind, slope: float) -> tuple[float, float]:
    """alpha and beta of the primitive."""
    return {"relu6": (0.0, float(SIX)), "relu": (slope, 0.0), "elu": (slope, 0.0)}.get(kind, (1.0, 0.0))


def eltwise(calls: Calls, algorithm: Algorithm, x: Memory, y: Memory, alpha: float = 0.0, beta: float = 0.0) -> None:
    """Then y = algorithm(x)."""
    calls.add(_forward(algorithm, x, y, alpha, beta), {Arg.SRC: x, Arg.DST: y})


def binary(calls: Calls, algorithm: Algorithm, a: Memory, b: Memory, y: Memory) -> None:
    """Then y = algorithm(a, b)."""
    desc = PrimitiveDesc("binary", algorithm, a.desc, b.desc, y.desc)
    calls.add(desc, {Arg.SRC: a, Arg.SRC_1: b, Arg.DST: y})


def stanh_gradient(calls: Calls, y: Memory, dy: Memory, dx: Memory) -> None:
    """dx = (A·B - B/A · y²) · dy; dx may be dy, so the factor needs room of its own."""
    factor = calls.temporary(y.desc)
    eltwise(calls, Algorithm.SQUARE, y, factor)
    eltwise(calls, Algorithm.LINEAR, factor, factor, -STANH_INNER / STANH_OUTER, STANH_OUTER * STANH_INNER)
    binary(calls, Algorithm.BINARY_MUL, dy, factor, dx)


def _forward(algorithm: Algorithm, x: Memory, y: Memory, alpha: float, beta: float) -> PrimitiveDesc:
    return PrimitiveDesc("eltwise_forward", Prop.FORWARD_TRAINING, algorithm, x.desc, y.desc, alpha, beta)
