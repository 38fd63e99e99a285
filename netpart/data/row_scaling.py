"""RowScaling: (x − mean) / std, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.remote.url_path import DataPath
from netpart.errors import DataError
from netpart.spec import Shape


class RowScaling:
    """The scaling of rows of ``shape``: mean and std are scalars or arrays of that shape.

    Raises DataError, with ``path``, for an array of another shape.
    """

    def __init__(
        self, path: DataPath, shape: Shape, mean: float | NDArray[Any] = 0.0, std: float | NDArray[Any] = 1.0
    ) -> None:
        self._mean, self._std = _per_element(path, shape, mean, "mean"), _per_element(path, shape, std, "std")
        self._scaled = bool((self._std != 1).any())
        self._plain = not self._scaled and not self._mean.any()

    def apply(self, values: NDArray[Any], crop: tuple[slice, ...], out: NDArray[Any]) -> None:
        """Write (values − mean) / std to ``out``, in its dtype; ``values`` are (rows, *crop)."""
        if self._plain:
            np.copyto(out, values, casting="unsafe")
            return
        np.subtract(values, self._mean[crop].astype(out.dtype), out=out, dtype=out.dtype)
        if self._scaled:
            np.divide(out, self._std[crop].astype(out.dtype), out=out)


def _per_element(path: DataPath, shape: Shape, value: float | NDArray[Any], name: str) -> NDArray[np.float64]:
    array = np.asarray(value, np.float64)
    if array.shape not in ((), shape):
        raise DataError(f"{path}: expected a {name} of shape {shape}, got {array.shape}; make it anew")
    return np.broadcast_to(array, shape)  # a view: a scalar takes no memory per element
