"""Conversion of images of any mode (Pillow's word for their kind of pixels) to grey or to colours, 8 bits each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

MODES = {1: "L", 3: "RGB"}
"""Pillow's mode by the number of channels."""
TRANSPARENT = ("LA", "PA", "RGBA", "La", "RGBa")


def as_channels(image: Any, channels: int) -> Any:
    """Convert ``image`` to ``channels`` channels of 8 bits. Transparent places become white."""
    if image.mode.startswith("I"):
        image = _high_bytes(image)
    if image.mode in TRANSPARENT or "transparency" in image.info:
        image = _on_white(image.convert("RGBA"))
    return image if image.mode == MODES[channels] else image.convert(MODES[channels])


def _high_bytes(image: Any) -> Any:
    """The high bytes of 16-bit pixels, as Pillow reads 16-bit colours; its own conversion of grey clips at 255."""
    values = np.clip(np.asarray(image), 0, 0xFFFF).astype(np.uint16) >> 8
    return import_module("PIL.Image").fromarray(values.astype(np.uint8))


def _on_white(image: Any) -> Any:
    """An image with transparency on a white background."""
    library = import_module("PIL.Image")
    return library.alpha_composite(library.new("RGBA", image.size, "white"), image)
