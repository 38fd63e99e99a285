"""Linear resizing as one small matrix product per axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def interpolation_matrix(source: int, target: int, dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """The (target, source) matrix that resizes one axis linearly; pixels are areas, the border is repeated."""
    # The centre of pixel i is at i + 0.5, so that first and last pixels of both sizes cover the same area.
    return sampling_matrix(source, (np.arange(target) + 0.5) * source / target - 0.5, dtype)


def nearest_elements(source: int, target: int) -> NDArray[np.int64]:
    """The elements (target,) of an axis that are nearest to the places at which ``interpolation_matrix`` resizes it."""
    return ((np.arange(target) + 0.5) * source / target).astype(np.int64)


def sampling_matrix(source: int, places: NDArray[Any], dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """The (places, source) matrix that interpolates ``source`` elements linearly at ``places``; borders repeat."""
    place = np.clip(places, 0, source - 1)
    below = np.minimum(place.astype(np.int64), max(source - 2, 0))
    matrix = np.zeros((len(place), source), dtype)
    rows = np.arange(len(place))
    # add.at, not assignment: with one source element both neighbours are the same, and their weights add up.
    np.add.at(matrix, (rows, below), 1 - (place - below))
    np.add.at(matrix, (rows, np.minimum(below + 1, source - 1)), place - below)
    return matrix


def resize_array(values: NDArray[Any], extents: tuple[int, ...], dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Resize ``values`` (*space) to ``extents``, linearly along each axis, in ``dtype``."""
    return multiply_axes(
        values, [interpolation_matrix(n, m, dtype) for n, m in zip(values.shape, extents, strict=True)]
    )


def multiply_axes(values: NDArray[Any], matrices: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Multiply ``values`` (*space) by one matrix (target, source) along each axis, in the dtype of the matrices."""
    found = values.astype(matrices[0].dtype)
    for axis, matrix in enumerate(matrices):
        found = np.moveaxis(np.tensordot(matrix, found, (1, axis)), 0, axis)
    return found


def resize_images(images: NDArray[Any], height: int, width: int) -> NDArray[np.float32]:
    """Resize (..., h, w) images to (..., height, width) float32, bilinearly."""
    tall = interpolation_matrix(images.shape[-2], height) @ images.astype(np.float32)
    return np.asarray(tall @ interpolation_matrix(images.shape[-1], width).T, np.float32)
