"""Memory cost: what the memory of a layer costs if a byte has a price, held or recomputed, whichever costs less.

Whether a layer is recomputed changes nothing for its neighbours: what they receive is the same. So it needs no axis of
its own in the tables; each choice of a layer has the better of the two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.optimal.layer_prices import PricedLayer


@dataclass(frozen=True)
class MemoryCost:
    """By choice [c], in seconds: ``held``, the price of the bytes of the worker that holds most; ``again``, what the
    backward pass is longer because the layer is recomputed."""

    held: Array
    again: Array


def cost_memory(priced: PricedLayer, price: float) -> MemoryCost:
    """The cost of the memory of a layer at ``price`` seconds for a byte."""
    whole = price * priced.memory.max(axis=1)
    lean = price * (priced.memory - priced.freed).max(axis=1)
    dropped = lean + priced.repeat < whole
    return MemoryCost(np.where(dropped, lean, whole), np.where(dropped, priced.repeat, 0.0))
