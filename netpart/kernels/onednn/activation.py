"""Element-wise activations: one primitive forward and one backward, whatever the order in memory."""

from __future__ import annotations

from netpart.kernels import activation as reference
from netpart.kernels.activation import SIX, STANH_INNER, STANH_OUTER, Kind
from netpart.kernels.onednn.calls import Args, Calls, Fast
from netpart.kernels.onednn.library import Refused
from netpart.kernels.onednn.memory import Memory, flat
from netpart.kernels.onednn.names import Algorithm, Arg, Prop
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
"""Kinds whose gradient reads y, and what computes it; for softplus that of oneDNN reads x, and is not used."""


class Activation(reference.Activation, Fast):
    """The verbs of the reference; x and y may be one array, and so may dy and dx."""

    def activation(self, kind: Kind, x: Array, y: Array, slope: float = 0.0) -> Op:
        """y = kind(x)."""

        def describe(calls: Calls) -> None:
            source, target = flat(x, y)
            if kind != "stanh":
                return eltwise(calls, forward(kind), source, target, *factors(kind, slope))
            post = Attributes().eltwise(Algorithm.LINEAR, STANH_INNER).eltwise(Algorithm.TANH)
            same(calls, source, target, post.eltwise(Algorithm.LINEAR, STANH_OUTER))

        return self.attempt(describe, lambda: super(Activation, self).activation(kind, x, y, slope))

    def activation_gradient(self, kind: Kind, x: Array, y: Array, dy: Array, dx: Array, slope: float = 0.0) -> Op:
        """Overwrites dx = kind'(x) · dy."""

        def describe(calls: Calls) -> None:
            if kind in ("stanh", "softplus"):
                return _gradient_of_output(calls, kind, *flat(y, dy, dx))
            algorithm, of_output = _backward(kind, slope)
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


def _backward(kind: Kind, slope: float) -> tuple[Algorithm, bool]:
    """What computes the gradient of ``kind``, and whether it reads y rather than x."""
    if kind in FROM_INPUT:
        return FROM_INPUT[kind], False
    from_input, from_output = FROM_OUTPUT[kind]
    return (from_input, False) if slope < 0 else (from_output, True)


def factors(kind: Kind, slope: float) -> tuple[float, float]:
    """alpha and beta of the primitive."""
    return {"relu6": (0.0, float(SIX)), "relu": (slope, 0.0), "elu": (slope, 0.0)}.get(kind, (1.0, 0.0))


def eltwise(calls: Calls, algorithm: Algorithm, x: Memory, y: Memory, alpha: float = 0.0, beta: float = 0.0) -> None:
    """Then y = algorithm(x)."""
    calls.add(_forward(algorithm, x, y, alpha, beta), {Arg.SRC: x, Arg.DST: y})


def binary(
    calls: Calls, algorithm: Algorithm, a: Memory, b: Memory, y: Memory, post: Attributes | None = None,
    others: Args | None = None,
) -> None:  # fmt: skip
    """Then y = post(algorithm(a, b)); ``others`` are the operands of the binary post-operations."""
    desc = PrimitiveDesc("binary", algorithm, a.desc, b.desc, y.desc, attributes=post)
    calls.add(desc, {Arg.SRC: a, Arg.SRC_1: b, Arg.DST: y, **(others or {})})


def same(calls: Calls, x: Memory, y: Memory, post: Attributes, others: Args | None = None) -> None:
    """Then y = post(x), in one pass: eltwise takes no eltwise post-operations, but the smaller of x and x does."""
    binary(calls, Algorithm.BINARY_MIN, x, x, y, post, others)


def operand(place: int) -> int:
    """The argument that is the other operand of the binary post-operation at ``place``."""
    return Arg.POST_OP * (1 + place) | Arg.SRC_1


def _gradient_of_output(calls: Calls, kind: Kind, y: Memory, dy: Memory, dx: Memory) -> None:
    """dx = dy · kind'(x) where kind' is a function of y that oneDNN does not know, in one pass."""
    if kind == "stanh":  # A·B - B/A · y²
        post = Attributes().binary(Algorithm.BINARY_MUL, y.desc)
        post.eltwise(Algorithm.LINEAR, -STANH_INNER / STANH_OUTER, STANH_OUTER * STANH_INNER)
        others: Args = {operand(0): y, operand(2): dy}
    else:  # softplus: 1 - exp(-y)
        post = Attributes().eltwise(Algorithm.LINEAR, -1.0).eltwise(Algorithm.EXP).eltwise(Algorithm.LINEAR, -1.0, 1.0)
        others = {operand(3): dy}
    same(calls, y, dx, post.binary(Algorithm.BINARY_MUL, dy.desc), others)


def _forward(algorithm: Algorithm, x: Memory, y: Memory, alpha: float, beta: float) -> PrimitiveDesc:
    return PrimitiveDesc("eltwise_forward", Prop.FORWARD_TRAINING, algorithm, x.desc, y.desc, alpha, beta)
