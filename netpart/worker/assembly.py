"""TensorAssembly: a whole tensor from the boxes of it that workers hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np

from netpart.spec import Region, Shape, relative_slices, whole_region

Values = np.ndarray[Any, Any]
Pick = Callable[[Values, Values], Values]
"""Which of two copies of the same elements to take: ``np.maximum`` or ``np.minimum``."""


class TensorAssembly:
    """A tensor of ``shape`` assembled from boxes; ``pick`` chooses where several boxes hold an element.

    All copies should be equal. To check that, compare the maximum with the minimum of them.
    """

    def __init__(self, shape: Shape, empty: float, pick: Pick, dtype: Any = np.float64) -> None:
        self.values = np.full(shape, empty, dtype)
        self.seen = np.zeros(shape, bool)
        self.pick = pick

    def add(self, region: Region, values: Values) -> None:
        """Put ``values`` into the box ``region``."""
        box = relative_slices(region, whole_region(self.values.shape))
        self.values[box] = np.where(self.seen[box], self.pick(self.values[box], values), values)
        self.seen[box] = True


def sum_arrays(addends: Iterable[Values]) -> Values:
    """The sum of arrays of one shape, in order."""
    # From left to right: the rounding of a floating-point sum depends on the order.
    return reduce(np.add, addends)
