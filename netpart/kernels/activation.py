"""Element-wise activations; gradients are taken from the output, so that the input may be dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import Verbs

Kind = Literal["relu", "sigmoid", "tanh", "stanh"]

STANH_OUTER, STANH_INNER = 1.7159047, 0.66666667
"""The scaled tanh of LeCun et al. 1998, Efficient BackProp, section 4.4, in SINGA's digits."""


class Activation(Verbs):
    """x, y, dy, dx: one shape; ``slope`` is relu's factor for negative x."""

    def activation(self, kind: Kind, x: Array, y: Array, slope: float = 0.0) -> Op:
        """y = kind(x); y must not be x."""
        forward = {"relu": self._relu, "sigmoid": self._sigmoid, "tanh": self._tanh, "stanh": self._stanh}
        return Op(forward[kind](x, y, slope))

    def activation_gradient(self, kind: Kind, x: Array, y: Array, dy: Array, dx: Array, slope: float = 0.0) -> Op:
        """Overwrites dx = kind'(x) · dy; of x and y only y is read, except for a relu of negative slope."""
        if kind == "relu":
            return self._relu_gradient(x if slope < 0 else y, dy, dx, slope)
        # Each derivative is a quadratic in y: y - y², 1 - y² and A·B - B/A·y².
        linear, square, constant = {
            "sigmoid": (1.0, -1.0, 0.0),
            "tanh": (0.0, -1.0, 1.0),
            "stanh": (0.0, -STANH_INNER / STANH_OUTER, STANH_OUTER * STANH_INNER),
        }[kind]
        xp = self.xp

        def run() -> None:
            xp.multiply(y, square, out=dx)
            xp.add(dx, linear, out=dx)
            xp.multiply(dx, y, out=dx)
            xp.add(dx, constant, out=dx)
            xp.multiply(dx, dy, out=dx)

        return Op(run)

    def _relu(self, x: Array, y: Array, slope: float) -> Callable[[], None]:
        xp = self.xp
        if slope == 0:
            return lambda: xp.maximum(x, 0, out=y)
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
            else:
                dx.fill(0)
            xp.copyto(dx, dy, where=positive)

        return Op(run, [(source.shape, bool)])

    def _sigmoid(self, x: Array, y: Array, slope: float) -> Callable[[], None]:
        """(1 + tanh(x/2)) / 2, which cannot overflow."""
        xp = self.xp

        def run() -> None:
            xp.multiply(x, 0.5, out=y)
            xp.tanh(y, out=y)
            xp.add(y, 1, out=y)
            xp.multiply(y, 0.5, out=y)

        return run

    def _tanh(self, x: Array, y: Array, slope: float) -> Callable[[], None]:
        return lambda: self.xp.tanh(x, out=y)

    def _stanh(self, x: Array, y: Array, slope: float) -> Callable[[], None]:
        xp = self.xp

        def run() -> None:
            xp.multiply(x, STANH_INNER, out=y)
            xp.tanh(y, out=y)
            xp.multiply(y, STANH_OUTER, out=y)

        return run
