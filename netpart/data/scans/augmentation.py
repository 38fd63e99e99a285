"""ScanChange: the random change of a scan in training, so that passes over the table differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.resize import interpolation_matrix, multiply_axes
from netpart.spec import Region, Shape

NODES = 3
"""Number of random values of a drift along each axis."""


@dataclass(frozen=True)
class ScanChange:
    """A change: ``flip`` mirrors left and right; then ``drift`` (3, 3, 3), interpolated over the volume, is added.

    The drift is added only to voxels that are not 0: the background stays 0.
    """

    flip: bool = False
    drift: NDArray[Any] | None = None

    def with_drift(self, values: NDArray[Any], box: Region, space: Shape) -> NDArray[Any]:
        """Add the drift to ``values``, the voxels of ``box`` of a volume of extents ``space``."""
        if self.drift is None:
            return values
        # Interpolated over the whole volume and then cropped, so that all parts of a cut add the same field.
        places = zip(space, box, strict=True)
        field = multiply_axes(
            self.drift, [interpolation_matrix(NODES, n, values.dtype)[lo:hi] for n, (lo, hi) in places]
        )
        return np.where(values == 0, np.zeros_like(values), values + field)


Changes = Callable[[int, int, int], list[ScanChange]]
"""(step, first row, last row (excluded)) -> the change of every row."""
SAME = ScanChange()
