"""Slices: a picture of an image or of three planes of a volume, with what is important in it in colour over it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]

WIDTH = 720
"""Pixels of a picture, roughly."""
DARKEST, BRIGHTEST = 1, 99
"""Percentiles of the values that are drawn black and white."""
COVER = 0.7
"""Share of the colour where the map is 1."""


def overlay(values: NDArray[Any], heat: NDArray[Any]) -> Image:
    """A picture (height, width, 3) of ``values`` in grey under ``heat``, 0 to 1, from red to yellow; both (*space).

    Of a volume (right, anterior, superior) it shows the sagittal, coronal and axial planes through the hottest voxel.
    """
    grey = shades(values)
    colour = np.stack([np.ones_like(heat), heat, np.zeros_like(heat)], axis=-1)
    cover = COVER * heat[..., None]
    painted = grey[..., None] * (1 - cover) + colour * cover
    picture = painted if heat.ndim == 2 else side_by_side(planes(painted, hottest(heat)))
    factor = max(1, WIDTH // picture.shape[1])
    found: Image = np.rint(255 * picture).astype(np.uint8).repeat(factor, 0).repeat(factor, 1)
    return found


def shades(values: NDArray[Any]) -> NDArray[np.float64]:
    """``values`` as shades from 0 to 1."""
    low, high = np.percentile(values, [DARKEST, BRIGHTEST])
    return np.asarray(np.clip((values - low) / max(high - low, 1e-12), 0, 1), np.float64)


def hottest(heat: NDArray[Any]) -> tuple[int, ...]:
    """Where the map is largest."""
    return tuple(int(i) for i in np.unravel_index(int(heat.argmax()), heat.shape))


def planes(volume: NDArray[Any], at: tuple[int, ...]) -> list[NDArray[Any]]:
    """The planes through ``at``, each with its last axis upwards."""
    return [volume.take(k, axis).swapaxes(0, 1)[::-1] for axis, k in enumerate(at)]


def side_by_side(pictures: list[NDArray[Any]]) -> NDArray[Any]:
    """Pictures in a row, on black."""
    height = max(len(picture) for picture in pictures)
    return np.hstack([np.pad(p, ((0, height - len(p)), (0, 0), (0, 0))) for p in pictures])
