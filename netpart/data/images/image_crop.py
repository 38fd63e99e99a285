"""ImageCrop: a box of an image that was scaled to a frame."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, log

Size = tuple[int, int]
"""Height and width, pixels."""
ASPECTS = (3 / 4, 4 / 3)
"""Narrowest and widest aspect of a crop of a random area, relative to that of the output (Szegedy et al., 2015)."""


@dataclass(frozen=True)
class ImageCrop:
    """The box with corner (``top``, ``left``) and ``size`` in an image that was scaled to ``frame``."""

    frame: Size
    top: int
    left: int
    size: Size

    def box(self, image: Size) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the same box in an unscaled image of size ``image``."""
        # Products before the division: in an image as large as the frame, the coordinates are whole numbers.
        tall, wide = ((self.top, self.size[0]), (self.left, self.size[1]))
        y, y_end = (at * image[0] / self.frame[0] for at in (tall[0], sum(tall)))
        x, x_end = (at * image[1] / self.frame[1] for at in (wide[0], sum(wide)))
        return x, y, min(x_end, image[1]), min(y_end, image[0])

    def least_image(self, target: Size) -> Size:
        """The size of the smallest image in which this box has the size ``target``: decoders may decode so small."""
        height, width = (ceil(t * f / s) for t, f, s in zip(target, self.frame, self.size, strict=True))
        return height, width


def scaled_frame(image: Size, target: Size, resize: int) -> Size:
    """The size of ``image`` with a shorter side of ``resize`` or, for 0, just large enough for ``target``."""
    scale = resize / min(image) if resize else max(t / n for t, n in zip(target, image, strict=True))
    height, width = (max(t, round(n * scale)) for t, n in zip(target, image, strict=True))
    return height, width


def place_crop(image: Size, target: Size, resize: int, places: tuple[float, float] | None = None) -> ImageCrop:
    """The crop of size ``target`` in the scaled image.

    ``places``: its place on either axis, each in [0, 1); None: the middle.
    """
    frame = scaled_frame(image, target, resize)
    free = [f - t for f, t in zip(frame, target, strict=True)]
    if places is None:
        return ImageCrop(frame, free[0] // 2, free[1] // 2, target)
    top, left = (int(place * (room + 1)) for place, room in zip(places, free, strict=True))
    return ImageCrop(frame, top, left, target)


def crop_area(image: Size, target: Size, area: float, aspect: float, places: tuple[float, float]) -> ImageCrop:
    """A crop with the share ``area`` of the image, which is later scaled to ``target``.

    ``aspect``, in [0, 1), chooses one of ASPECTS. A box that does not fit is clipped to the image.
    """
    low, high = map(log, ASPECTS)
    wide = exp(low + aspect * (high - low)) * target[1] / target[0]
    pixels = area * image[0] * image[1]
    height = min(image[0], max(1, round((pixels / wide) ** 0.5)))
    width = min(image[1], max(1, round((pixels * wide) ** 0.5)))
    top = int(places[0] * (image[0] - height + 1))
    left = int(places[1] * (image[1] - width + 1))
    return ImageCrop(image, top, left, (height, width))
