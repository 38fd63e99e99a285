"""Bilinear resizing as two small matrix products, one per axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def interpolation(source: int, target: int) -> NDArray[np.float32]:
    """The (target, source) matrix that resizes one axis linearly: pixels are areas, borders repeat."""
    place = np.clip((np.arange(target) + 0.5) * source / target - 0.5, 0, source - 1)
    below = np.minimum(place.astype(np.int64), max(source - 2, 0))
    matrix = np.zeros((target, source), np.float32)
    rows = np.arange(target)
    np.add.at(matrix, (rows, below), 1 - (place - below))
    np.add.at(matrix, (rows, np.minimum(below + 1, source - 1)), place - below)
    return matrix


def stretch(values: NDArray[Any], extents: tuple[int, ...]) -> NDArray[np.float32]:
    """Resizes ``values`` (*space) to ``extents``, linearly along each axis."""
    found = values.astype(np.float32)
    for axis, extent in enumerate(extents):
        found = np.moveaxis(np.tensordot(interpolation(found.shape[axis], extent), found, (1, axis)), 0, axis)
    return np.asarray(found, np.float32)


def resize(images: NDArray[Any], height: int, width: int) -> NDArray[np.float32]:
    """Resizes (..., h, w) images to (..., height, width) float32, bilinearly."""
    tall = interpolation(images.shape[-2], height) @ images.astype(np.float32)
    return np.asarray(tall @ interpolation(images.shape[-1], width).T, np.float32)
