"""Value statistics: extremes, mean and standard deviation by channel, and what is not a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.spec import Shape

MOST_CHANNELS = 64
"""Largest number of channels, or of columns, that have figures of their own; more have common ones."""
NAMED = 20
"""Largest number of rows with values that are not finite, which are named."""


@dataclass(frozen=True)
class ChannelValues:
    """Figures of the finite values of one channel; None if it has none. ``std`` divides by the number of values."""

    minimum: float | None
    mean: float | None
    maximum: float | None
    std: float | None


@dataclass(frozen=True)
class ValueSummary:
    """The figures of all channels, ``overall`` and one by one, and how many values are NaN or infinite.

    ``rows`` names the first rows with such.
    """

    overall: ChannelValues
    channels: tuple[ChannelValues, ...]
    nan: int
    infinite: int
    rows: tuple[int, ...]


class ValueStatistics:
    """Figures of rows of ``shape``, which are added block after block.

    The first axis of a row counts channels if a row has several axes; a row of one axis consists of columns.
    """

    def __init__(self, shape: Shape) -> None:
        channels = shape[0] if len(shape) != 2 and shape and shape[0] <= MOST_CHANNELS else 1
        self._counts = np.zeros(channels)
        self._means = np.zeros(channels)
        self._squares = np.zeros(channels)
        self._lowest = np.full(channels, np.inf)
        self._highest = np.full(channels, -np.inf)
        self._nan = 0
        self._infinite = 0
        self._rows: list[int] = []

    def add(self, first: int, rows: NDArray[Any]) -> None:
        """Add a block of rows, of which the first has the number ``first``."""
        values = rows.reshape(len(rows), len(self._counts), -1).astype(np.float64)
        finite = np.isfinite(values)
        if not finite.all():
            self._nan += int(np.isnan(values).sum())
            self._infinite += int(np.isinf(values).sum())
            named = (first + np.flatnonzero(~finite.all(axis=(1, 2)))).tolist()
            self._rows += named[: NAMED - len(self._rows)]
        self._merge(values, finite)

    def _merge(self, values: NDArray[Any], finite: NDArray[Any]) -> None:
        """Add the finite ``values`` (rows, channels, ...) to the figures, by the parallel formula of Chan et al."""
        count = finite.sum(axis=(0, 2)).astype(np.float64)
        kept = np.where(finite, values, 0.0)
        mean = kept.sum(axis=(0, 2)) / np.maximum(count, 1)
        # Of the deviations, not of the squares: these would cancel where the mean is far from 0.
        squares = (np.where(finite, values - mean[:, None], 0.0) ** 2).sum(axis=(0, 2))
        total = self._counts + count
        apart = mean - self._means
        share = count / np.maximum(total, 1)
        self._squares += squares + apart**2 * self._counts * share
        self._means += apart * share
        self._counts = total
        self._lowest = np.minimum(self._lowest, np.where(finite, values, np.inf).min(axis=(0, 2)))
        self._highest = np.maximum(self._highest, np.where(finite, values, -np.inf).max(axis=(0, 2)))

    def summary(self) -> ValueSummary:
        """The figures of all rows that were added."""
        channels = tuple(self._channel(k) for k in range(len(self._counts)))
        return ValueSummary(self._overall(), channels, self._nan, self._infinite, tuple(self._rows))

    def _overall(self) -> ChannelValues:
        """The figures of all channels together."""
        count = self._counts.sum()
        if not count:
            return ChannelValues(None, None, None, None)
        mean = (self._counts * self._means).sum() / count
        squares = (self._squares + self._counts * (self._means - mean) ** 2).sum()
        low, high = self._lowest.min(), self._highest.max()
        return ChannelValues(float(low), float(mean), float(high), float(np.sqrt(squares / count)))

    def _channel(self, k: int) -> ChannelValues:
        if not self._counts[k]:
            return ChannelValues(None, None, None, None)
        std = float(np.sqrt(self._squares[k] / self._counts[k]))
        return ChannelValues(float(self._lowest[k]), float(self._means[k]), float(self._highest[k]), std)
