"""ImageChange: the random change of one row; the caller draws the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netpart.data.images.image_crop import ImageCrop, Size, crop_area, place_crop

GREY = (0.299, 0.587, 0.114)
"""Shares of red, green and blue in the grey of a colour (ITU-R BT.601)."""


class ImageChange(NamedTuple):
    """Numbers in [0, 1) that place the crop, and what else changes.

    ``area``: share of the image that the crop has; None: it has the size of the output. The last three are factors.
    """

    top: float
    left: float
    area: float | None = None
    aspect: float = 0.5
    mirror: bool = False
    brightness: float = 1.0
    contrast: float = 1.0
    saturation: float = 1.0

    @property
    def recolours(self) -> bool:
        """True if a colour changes."""
        return self[-3:] != (1.0, 1.0, 1.0)


ImageChanges = Callable[[int, int, int], list[ImageChange]]
"""(step, first row, last row) -> the changes of these rows."""


def choose_crop(image: Size, target: Size, resize: int, change: ImageChange | None) -> ImageCrop:
    """The crop of an image: at the drawn place or, without a change, in the middle."""
    if change is None:
        return place_crop(image, target, resize)
    places = change.top, change.left
    if change.area is None:
        return place_crop(image, target, resize, places)
    return crop_area(image, target, change.area, change.aspect, places)


def recolour(values: NDArray[Any], change: ImageChange) -> None:
    """Change brightness, contrast and saturation of (channels, height, width) values from 0 to 1, in place."""
    values *= values.dtype.type(change.brightness)
    np.clip(values, 0, 1, out=values)
    if change.contrast != 1:
        _blend(values, _grey(values).mean(dtype=np.float64), change.contrast)
    if change.saturation != 1:
        _blend(values, _grey(values), change.saturation)


def _grey(values: NDArray[Any]) -> Any:
    """The grey of each pixel, (height, width)."""
    if len(values) == 1:
        return values[0].copy()
    shares = np.asarray(GREY, values.dtype)
    return values[0] * shares[0] + values[1] * shares[1] + values[2] * shares[2]


def _blend(values: NDArray[Any], towards: Any, factor: float) -> None:
    """Multiply the distance of ``values`` from ``towards`` by ``factor``, in place; the result is clipped."""
    towards = np.asarray(towards, values.dtype)
    values -= towards
    values *= values.dtype.type(factor)
    values += towards
    np.clip(values, 0, 1, out=values)
