"""Element-wise activations. Where the derivative is a function of the output, the gradient reads no input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from netpart.kernels.gates import GATES, sigmoid
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import Verbs

Kind = Literal["relu", "relu6", "sigmoid", "tanh", "stanh", "elu", "softplus", "silu", "mish", "gelu", "gelu_tanh"]
KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
SIX = 6
"""Where relu6 saturates (Howard et al., MobileNets, 2017)."""

STANH_OUTER, STANH_INNER = 1.7159047, 0.66666667
"""The scaled tanh of LeCun et al. 1998, Efficient BackProp, section 4.4, in SINGA's digits."""


class Activation(Verbs):
    """x, y, dy, dx: one shape; ``slope`` is relu's factor for negative x; elu tends to -slope for negative x."""

    def activation(self, kind: Kind, x: Array, y: Array, slope: float = 0.0) -> Op:
        """y = kind(x); y may be x, except for gates, elu and relu with a slope."""
        if kind in GATES:
            return self._gated(kind, x, y)
        if kind == "elu":
            return self._elu(x, y, slope)
        forward = {
            "relu": self._relu, "sigmoid": self._sigmoid, "tanh": self._tanh, "stanh": self._stanh,
            "softplus": self._softplus, "relu6": self._relu6,
        }  # fmt: skip
        return Op(forward[kind](x, y, slope))

    def activation_gradient(self, kind: Kind, x: Array, y: Array, dy: Array, dx: Array, slope: float = 0.0) -> Op:
        """Overwrite dx = kind'(x) · dy; dx may be dy where y may be x, and for gates.

        Of x and y only y is read, except for gates, elu and a relu of negative slope.
        """
        if kind in GATES:
            return self._gated_gradient(kind, x, dy, dx)
        if kind == "relu":
            # With a negative slope y is positive on both sides of 0, so that only x shows which side it was.
            return self._relu_gradient(x if slope < 0 else y, dy, dx, slope)
        if kind == "relu6":
            return self._relu6_gradient(y, dy, dx)
        if kind == "elu":
            return self._elu_gradient(x, y, dy, dx, slope)
        if kind == "softplus":
            return self._softplus_gradient(y, dy, dx)
        # Each derivative is a quadratic in y, evaluated by Horner's rule: y - y², 1 - y² and A·B - B/A·y².
        linear, square, constant = {
            "sigmoid": (1.0, -1.0, 0.0),
            "tanh": (0.0, -1.0, 1.0),
            "stanh": (0.0, -STANH_INNER / STANH_OUTER, STANH_OUTER * STANH_INNER),
        }[kind]
        xp = self.xp

        def run(slope: Array) -> None:
            xp.multiply(y, square, out=slope)
            xp.add(slope, linear, out=slope)
            xp.multiply(slope, y, out=slope)
            xp.add(slope, constant, out=slope)
            xp.multiply(slope, dy, out=dx)

        return Op(run, [(y.shape, self.dtype)])

    def _relu(self, x: Array, y: Array, slope: float) -> Callable[[], None]:
        xp = self.xp
        if slope == 0:  # NumPy's maximum with one number takes three times as long as its clip
            return lambda: xp.clip(x, 0, xp.inf, out=y)
        pick = xp.maximum if slope <= 1 else xp.minimum

        def run() -> None:
            xp.multiply(x, slope, out=y)
            pick(x, y, out=y)

        return run

    def _relu_gradient(self, source: Array, dy: Array, dx: Array, slope: float) -> Op:
        xp = self.xp

        def run(positive: Array) -> None:
            xp.greater(source, 0, out=positive)
            if slope:
                xp.multiply(dy, slope, out=dx)
                xp.copyto(dx, dy, where=positive)
            else:  # many times as fast as a masked copy, whose branches no branch predictor foresees
                xp.multiply(dy, positive, out=dx)

        return Op(run, [(source.shape, bool)])

    def _relu6(self, x: Array, y: Array, slope: float) -> Callable[[], None]:
        return lambda: self.xp.clip(x, 0, SIX, out=y)

    def _relu6_gradient(self, y: Array, dy: Array, dx: Array) -> Op:
        xp = self.xp

        def run(inside: Array, below: Array) -> None:
            xp.greater(y, 0, out=inside)
            xp.less(y, SIX, out=below)
            xp.multiply(dy, inside, out=dx)
            xp.multiply(dx, below, out=dx)

        return Op(run, [(y.shape, bool)] * 2)

    def _sigmoid(self, x: Array, y: Array, slope: float) -> Callable[[], None]:
        return lambda: sigmoid(self.xp, x, y)

    def _tanh(self, x: Array, y: Array, slope: float) -> Callable[[], None]:
        return lambda: self.xp.tanh(x, out=y)

    def _stanh(self, x: Array, y: Array, slope: float) -> Callable[[], None]:
        xp = self.xp

        def run() -> None:
            xp.multiply(x, STANH_INNER, out=y)
            xp.tanh(y, out=y)
            xp.multiply(y, STANH_OUTER, out=y)

        return run

    def _softplus(self, x: Array, y: Array, slope: float) -> Callable[[], None]:
        return lambda: self.xp.logaddexp(x, 0, out=y)

    def _softplus_gradient(self, y: Array, dy: Array, dx: Array) -> Op:
        """The derivative is 1 - exp(-y)."""
        xp = self.xp

        def run(slope: Array) -> None:
            # expm1 keeps the digits that 1 - exp(-y) would lose where y is near 0.
            xp.negative(y, out=slope)
            xp.expm1(slope, out=slope)
            xp.multiply(slope, dy, out=dx)
            xp.negative(dx, out=dx)

        return Op(run, [(y.shape, self.dtype)])

    def _elu(self, x: Array, y: Array, slope: float) -> Op:
        xp = self.xp

        def run(positive: Array) -> None:
            xp.minimum(x, 0, out=y)  # a large positive x would overflow, although its result is not used
            xp.expm1(y, out=y)
            xp.multiply(y, slope, out=y)
            xp.greater(x, 0, out=positive)
            xp.copyto(y, x, where=positive)

        return Op(run, [(x.shape, bool)])

    def _elu_gradient(self, x: Array, y: Array, dy: Array, dx: Array, slope: float) -> Op:
        xp = self.xp

        def run(positive: Array) -> None:
            xp.greater(x, 0, out=positive)
            xp.add(y, slope, out=dx)
            xp.multiply(dx, dy, out=dx)
            xp.copyto(dx, dy, where=positive)

        return Op(run, [(x.shape, bool)])

    def _gated(self, kind: str, x: Array, y: Array) -> Op:
        xp, (gate, _) = self.xp, GATES[kind]

        def run(a: Array, b: Array) -> None:
            gate(xp, x, y, a, b)
            xp.multiply(y, x, out=y)

        return Op(run, [(x.shape, self.dtype)] * 2)

    def _gated_gradient(self, kind: str, x: Array, dy: Array, dx: Array) -> Op:
        """dx = (g + x · g') · dy."""
        xp = self.xp
        (gate, slope) = GATES[kind]

        def run(g: Array, a: Array, b: Array) -> None:
            gate(xp, x, g, a, b)
            slope(xp, x, g, b, a)
            xp.multiply(b, x, out=b)
            xp.add(b, g, out=b)
            xp.multiply(b, dy, out=dx)

        return Op(run, [(x.shape, self.dtype)] * 3)
