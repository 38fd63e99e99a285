"""EncodedImage: an encoded image, whose size is checked before its pixels are decoded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.images.image_crop import ImageCrop, Size
from netpart.data.images.image_modes import as_channels
from netpart.errors import LONGEST, DataError, NetpartError
from netpart.spec import Shape

SUFFIXES = (".jpeg", ".jpg", ".png", ".webp")
FORMATS = (
    (b"\x89PNG\r\n\x1a\n", "PngImagePlugin", "PngImageFile"),
    (b"\xff\xd8\xff", "JpegImagePlugin", "JpegImageFile"),
    (b"RIFF", "WebPImagePlugin", "WebPImageFile"),
)
"""First bytes, and module and class of Pillow. Its own ``open`` would try all formats, and warn of large images."""
LARGEST = 64 << 20
"""Largest number of bytes of an encoded image."""
MOST_PIXELS = 1 << 26
"""Largest number of pixels of an image: a small file can claim to have thousands of millions."""
MASK_MODES = ("1", "L", "P", "I;16", "I")
"""Modes of Pillow with one whole number per pixel."""
ORIENTATION = 0x0112
"""The EXIF tag for the orientation of a camera."""
TURNS = (
    "", "", "FLIP_LEFT_RIGHT", "ROTATE_180", "FLIP_TOP_BOTTOM", "TRANSPOSE", "ROTATE_270", "TRANSVERSE", "ROTATE_90"
)  # fmt: skip
"""Value of that tag -> what makes the image upright."""
ANEW = "make or copy the file anew"


class EncodedImage:
    """A PNG, JPEG or WebP image in memory; of several frames, the first. ``who`` names it in errors.

    ``size`` is that of the upright image. Raises DataError if it is another kind of file, damaged or too large,
    NetpartError if Pillow is not installed.
    """

    def __init__(self, content: bytes, who: str) -> None:
        self._who = who
        reader = _picture_reader(content, who)
        with _raise_as_image_error(who, "a PNG, JPEG or WebP image"):
            self._image = reader(BytesIO(content))
            width, height = self._image.size
        self._refuse_large(width * height)
        with _raise_as_image_error(who, f"an image of {width}x{height}"):
            turn = self._image.getexif().get(ORIENTATION, 1)
        self._turn = turn if turn in range(1, len(TURNS)) else 1
        self.size: Size = (width, height) if self._turn >= 5 else (height, width)

    def pixels(self, crop: ImageCrop, shape: Shape) -> NDArray[np.uint8]:
        """Decode the box ``crop``, scaled to ``shape`` (channels, height, width), as (height, width, channels)."""
        channels, *target = shape
        with _raise_as_image_error(self._who, "pixels that can be decoded"):
            self._decode_small(crop.least_image((target[0], target[1])))
            image = as_channels(self._upright(), channels)
            found = np.asarray(_cut_out(image, crop, target, "BILINEAR"))
        return found.reshape(*target, channels)

    def classes(self, crop: ImageCrop, target: Size) -> NDArray[np.int32]:
        """Decode the box ``crop`` of a mask: the value of each pixel, without interpolation, (height, width)."""
        if self._image.mode not in MASK_MODES:
            hint = "write the classes as grey values or as a palette"
            raise DataError(f"{self._who}: expected one number per pixel, got mode {self._image.mode}; {hint}")
        with _raise_as_image_error(self._who, "pixels that can be decoded"):
            return np.asarray(_cut_out(self._upright(), crop, target, "NEAREST")).astype(np.int32)

    def _refuse_large(self, pixels: int) -> None:
        if not 0 < pixels <= MOST_PIXELS:
            hint = "scale it down"
            raise DataError(f"{self._who}: expected 1 to {MOST_PIXELS} pixels, got {pixels}; {hint}")

    def _decode_small(self, least: Size) -> None:
        """Let a JPEG be decoded at 1/2, 1/4 or 1/8 of its size, if it is still as large as ``least`` (upright)."""
        height, width = least if self._turn < 5 else least[::-1]
        self._image.draft(None, (width, height))

    def _upright(self) -> Any:
        self._image.load()
        name = TURNS[self._turn]
        return self._image.transpose(import_module("PIL.Image").Transpose[name]) if name else self._image


def _cut_out(image: Any, crop: ImageCrop, target: Any, method: str) -> Any:
    """The box of an image, scaled to ``target`` (height, width)."""
    box = crop.box((image.height, image.width))
    return image.resize(tuple(target[::-1]), import_module("PIL.Image").Resampling[method], box)


def _picture_reader(content: bytes, who: str) -> Any:
    """The class of Pillow that reads ``content``."""
    for magic, module, name in FORMATS:
        if content.startswith(magic):
            return getattr(_import_pillow(module), name)
    got = repr(content[:16]) if content else "an empty file"
    raise DataError(f"{who}: expected a PNG, JPEG or WebP image, got {got}; convert it, or omit it")


def _import_pillow(module: str) -> Any:
    """Import a module of the library that reads images; raise NetpartError if it is not installed."""
    try:
        return import_module(f"PIL.{module}")
    except ImportError as error:
        raise NetpartError(f"images: expected Pillow, got {error}; `pip install 'netpart[images]'`") from error


@contextmanager
def _raise_as_image_error(who: str, expected: str) -> Iterator[None]:
    """Convert the exceptions of Pillow into a DataError with the image: for a damaged file it raises any type."""
    try:
        yield
    except (NetpartError, MemoryError):
        raise
    except Exception as error:
        got = str(error) or type(error).__name__
        raise DataError(f"{who}: expected {expected}, got {got[:LONGEST]}; {ANEW}") from error
