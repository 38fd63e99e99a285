"""Gates: functions g of activations y = x · g(x), whose derivative is g + x · g'.

kind        g(x)                     g'(x)
silu        σ(x)                     g (1 - g)
mish        tanh(softplus(x))        σ(x) (1 - g²)
gelu        Φ(x)                     φ(x), the normal density
gelu_tanh   (1 + tanh u) / 2         2 g (1 - g) u'       with u = √(2/π) (x + 0.044715 x³)
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

from netpart.kernels.op import Array

Gate = Callable[[Any, Array, Array, Array, Array], None]
"""(xp, x, g, a, b): writes g(x) to ``g``; a and b are scratch."""

Slope = Callable[[Any, Array, Array, Array, Array], None]
"""(xp, x, g, out, a): writes g'(x) to ``out``, given g = g(x), which may be overwritten; a is scratch."""

BEYOND = 40.0
"""For larger |x| the gates are 0 or 1 to the last bit, in float64 too; its powers still fit float32."""

INNER, CUBIC = sqrt(2 / pi), 0.044715
"""u = INNER · (x + CUBIC x³) in the tanh form of gelu (Hendrycks and Gimpel, 2016, section 2)."""

ERFC = (
    -0.6717940840566922, 0.672643223977656, 0.047343306841863525, -0.046895610231083025, -0.009872689364099222,
    0.008824938553738766, 0.0017589335074028047, -0.002345812444802187, -0.00014624628742129897,
    0.000673678269707229, -9.373894767658914e-05, -0.0001742998493327709, 7.141810433392382e-05,
    3.173310599768977e-05, -3.0237840539367636e-05, 1.6992331462210402e-07, 8.662535396370422e-06,
    -3.0076454219231157e-06, -1.4094459902864608e-06, 1.3267813485960086e-06, -4.146853830215267e-08,
    -3.168341290732493e-07, 7.74557243736073e-08, 3.9722032676731845e-08, -1.2776086602365845e-08,
    -1.5867038454471564e-09,
)  # fmt: skip
"""log(erfc(z) · exp(z²) / t), t = 2 / (2 + z), as a polynomial in 2t - 1: its Chebyshev series, cut after 26 terms.

For z >= 0 the absolute error of erfc is below 1e-15, the relative one below 2e-13.
"""


def sigmoid(xp: Any, x: Array, out: Array) -> None:
    """Write (1 + tanh(x/2)) / 2, which cannot overflow."""
    xp.multiply(x, 0.5, out=out)
    _half_tanh(xp, out)


def _half_tanh(xp: Any, out: Array) -> None:
    """out = (1 + tanh(out)) / 2."""
    xp.tanh(out, out=out)
    xp.add(out, 1, out=out)
    xp.multiply(out, 0.5, out=out)


def _silu_gate(xp: Any, x: Array, g: Array, a: Array, b: Array) -> None:
    sigmoid(xp, x, g)


def _silu_slope(xp: Any, x: Array, g: Array, out: Array, a: Array) -> None:
    xp.subtract(1, g, out=out)
    xp.multiply(out, g, out=out)


def _mish_gate(xp: Any, x: Array, g: Array, a: Array, b: Array) -> None:
    xp.logaddexp(x, 0, out=g)
    xp.tanh(g, out=g)


def _mish_slope(xp: Any, x: Array, g: Array, out: Array, a: Array) -> None:
    sigmoid(xp, x, out)
    xp.multiply(g, g, out=a)
    xp.subtract(1, a, out=a)
    xp.multiply(out, a, out=out)


def _gelu_gate(xp: Any, x: Array, g: Array, a: Array, b: Array) -> None:
    """Write the normal distribution from its tail erfc(|x|/√2) / 2, which keeps its digits where it is small."""
    xp.absolute(x, out=a)
    xp.minimum(a, BEYOND, out=a)
    xp.multiply(a, sqrt(0.5), out=a)
    _erfc(xp, a, g, b)
    xp.multiply(g, 0.5, out=g)
    # |[x > 0] - tail| is 1 - tail for positive x and the tail itself for the others, without a branch.
    xp.greater(x, 0, out=a)
    xp.subtract(a, g, out=g)
    xp.absolute(g, out=g)


def _erfc(xp: Any, z: Array, out: Array, u: Array) -> None:
    """Write erfc(z), z >= 0, to ``out``; u is scratch and z is overwritten."""
    xp.add(z, 2, out=u)
    xp.divide(4, u, out=u)
    xp.subtract(u, 1, out=u)
    xp.multiply(u, ERFC[-1], out=out)
    for coefficient in ERFC[-2:0:-1]:  # Horner's rule
        xp.add(out, coefficient, out=out)
        xp.multiply(out, u, out=out)
    xp.add(out, ERFC[0], out=out)
    xp.multiply(z, z, out=z)
    xp.subtract(out, z, out=out)
    xp.exp(out, out=out)
    xp.add(u, 1, out=u)
    xp.multiply(u, 0.5, out=u)
    xp.multiply(out, u, out=out)


def _gelu_slope(xp: Any, x: Array, g: Array, out: Array, a: Array) -> None:
    xp.clip(x, -BEYOND, BEYOND, out=out)
    xp.multiply(out, out, out=out)
    xp.multiply(out, -0.5, out=out)
    xp.exp(out, out=out)
    xp.multiply(out, 1 / sqrt(2 * pi), out=out)


def _gelu_tanh_gate(xp: Any, x: Array, g: Array, a: Array, b: Array) -> None:
    xp.clip(x, -BEYOND, BEYOND, out=a)
    xp.multiply(a, a, out=g)
    xp.multiply(g, CUBIC, out=g)
    xp.add(g, 1, out=g)
    xp.multiply(g, a, out=g)
    xp.multiply(g, INNER, out=g)
    _half_tanh(xp, g)


def _gelu_tanh_slope(xp: Any, x: Array, g: Array, out: Array, a: Array) -> None:
    xp.clip(x, -BEYOND, BEYOND, out=out)
    xp.multiply(out, out, out=out)
    xp.multiply(out, 3 * CUBIC, out=out)
    xp.add(out, 1, out=out)
    xp.multiply(out, 2 * INNER, out=out)
    xp.multiply(out, g, out=out)
    xp.subtract(1, g, out=a)
    xp.multiply(out, a, out=out)


GATES: dict[str, tuple[Gate, Slope]] = {
    "silu": (_silu_gate, _silu_slope),
    "mish": (_mish_gate, _mish_slope),
    "gelu": (_gelu_gate, _gelu_slope),
    "gelu_tanh": (_gelu_tanh_gate, _gelu_tanh_slope),
}
"""Every gate and its derivative."""
