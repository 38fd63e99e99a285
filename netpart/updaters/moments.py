"""Running moments of gradients, and the divisors that updaters make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netpart.kernels.op import Array

if TYPE_CHECKING:
    from netpart.updaters.base import UpdateStep


def update_average(xp: Any, mean: Array, rho: float, value: Array, t: Array) -> None:
    """Update a running mean: mean <- rho mean + (1 - rho) value; ``t`` is overwritten and may be ``value``."""
    xp.multiply(mean, rho, out=mean)
    xp.multiply(value, 1 - rho, out=t)
    xp.add(mean, t, out=mean)


def write_root(xp: Any, value: Array, delta: float, out: Array, outside: bool = False) -> Array:
    """Write √(value + delta) to ``out`` and return it; √value + delta if delta is ``outside`` of the root."""
    if outside:
        return xp.add(xp.sqrt(value, out=out), delta, out=out)
    xp.add(value, delta, out=out)
    return xp.sqrt(out, out=out)


def bias_correction(rate: UpdateStep, beta1: float, beta2: float) -> tuple[float, float]:
    """Return (c, lr √c / (1 - beta1^t)) with c = 1 - beta2^t, the correction of moments that start at zero, in step t.

    As m / (1 - beta1^t) / √(v / c) = (√c / (1 - beta1^t)) m / √v, m and v stay as they are (Kingma and Ba, section 2).
    """
    c = 1 - beta2**rate.number
    return c, rate.lr * c**0.5 / (1 - beta1**rate.number)
