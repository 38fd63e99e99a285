"""Cropping, mirroring and scaling of images (kImagePreprocess). The caller draws the random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from netpart.spec import Region


def crop_images(
    images: NDArray[Any],
    tops: Sequence[int],
    lefts: Sequence[int],
    mirrors: Sequence[bool],
    size: int,
    scale: float,
    out: NDArray[Any],
    box: Region | None = None,
) -> None:
    """Cut one square of ``size`` out of each image, mirror it left to right if requested, and scale it.

    ``images``: (rows, channels, height, width), whole; ``out``: (rows, *box); ``box``: the region of
    (channel, y, x) of the cropped and mirrored images that ``out`` holds, by default all of it.
    ``tops``, ``lefts``, ``mirrors``: one per row. Raises ValueError if a square leaves its image.
    """
    channels, height, width = images.shape[1:]
    (c0, c1), (y0, y1), (x0, x1) = box or ((0, channels), (0, size), (0, size))
    for image, top, left, mirror, target in zip(images, tops, lefts, mirrors, out, strict=True):
        if not (0 <= top <= height - size and 0 <= left <= width - size):
            raise ValueError(f"a {size}x{size} square at ({top}, {left}) leaves an image of {height}x{width}")
        # Column x of the mirrored square is column size − 1 − x of the square.
        a, b = (size - x1, size - x0) if mirror else (x0, x1)
        part = image[c0:c1, top + y0 : top + y1, left + a : left + b]
        target[...] = part[..., ::-1] if mirror else part
    out *= scale
