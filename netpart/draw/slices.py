"""Slices: pictures of an image, or of three planes of a volume, with a heat map over it in colour.

The picture has a title, the names of the planes' sides, and a scale of the colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.draw.glyphs import ADVANCE, HIGH, LINE, glyph_pixels

Image = NDArray[np.uint8]

WIDTH = 720
"""Approximate width in pixels of the planes together."""
DARKEST, BRIGHTEST = 1, 99
"""Percentiles of the values that are drawn black and white."""
COVER = 0.7
"""Share of the colour where the heat is 1."""
SCALE, MARGIN, BAR, LEAST = 2, 24, 18, 160
"""Pixels: size of one pixel of a letter, margin of the picture, width of the colour scale, its minimum height."""
TICKS = (1.0, 0.5, 0.0)
PAPER, INK = 0, 230


@dataclass(frozen=True)
class Plane:
    """One plane, (height, width, 3) from 0 to 1, as it is drawn; ``sides`` are its left, right, top and bottom."""

    pixels: NDArray[np.float64]
    name: str = ""
    sides: tuple[str, str, str, str] = ("", "", "", "")


SIDES = (("P", "A", "S", "I"), ("L", "R", "S", "I"), ("L", "R", "A", "P"))
NAMES = "sagittal", "coronal", "axial"
"""Names of the planes perpendicular to the axes right, anterior and superior."""


def draw_slices(values: NDArray[Any], heat: NDArray[Any], title: str, spacing: Sequence[float] = ()) -> Image:
    """Draw ``values`` in grey under ``heat``, 0 to 1, in colour; both have shape (*space).

    Returns a picture (height, width, 3) with ``title`` above and a scale of the colours to the right. Of a volume
    (right, anterior, superior), whose voxels are ``spacing`` apart, it shows the sagittal, coronal and axial planes
    through the hottest voxel. They have a common scale. Their sides are marked: L and R are the patient's left and
    right.
    """
    shown = _enlarge_planes(list(slice_planes(values, heat, spacing)))
    body = _hstack_images(
        [*map(_label_plane, shown), colour_scale(max(LEAST, *(len(plane.pixels) for plane in shown)))],
        gap=2 * ADVANCE * SCALE,
    )
    lines = wrap(title, max(8, body.shape[1] // (ADVANCE * SCALE)))
    return _add_margin(_vstack_images([*map(text_image, lines), _blank_image(LINE * SCALE // 2, 1), body]))


def overlay_heat(values: NDArray[Any], heat: NDArray[Any]) -> NDArray[np.float64]:
    """``values`` in grey under ``heat`` in colours from red to yellow: (*space, 3), 0 to 1."""
    colour = np.stack([np.ones_like(heat), heat, np.zeros_like(heat)], axis=-1)
    cover = COVER * heat[..., None]
    return np.asarray(grey_shades(values)[..., None] * (1 - cover) + colour * cover, np.float64)


def slice_planes(values: NDArray[Any], heat: NDArray[Any], spacing: Sequence[float]) -> Iterator[Plane]:
    """The planes to draw: an image as it is, a volume in three planes, each with its last axis upwards."""
    if heat.ndim == 2:
        yield Plane(overlay_heat(values, heat))
        return
    painted = overlay_heat(values, heat)
    at = hottest_voxel(heat)
    steps = list(spacing) or [1.0] * 3
    for axis, k in enumerate(at):
        across, up = (step for other, step in enumerate(steps) if other != axis)
        # Rows of a picture run downwards: the last axis becomes the rows, in reverse order.
        plane: NDArray[np.float64] = np.take(painted, [k], axis).squeeze(axis).swapaxes(0, 1)[::-1]
        yield Plane(_stretch_pixels(plane, up / min(steps), across / min(steps)), f"{NAMES[axis]} {k}", SIDES[axis])


def _stretch_pixels(pixels: NDArray[np.float64], high: float, wide: float) -> NDArray[np.float64]:
    """``pixels`` enlarged ``high`` times in height and ``wide`` times in width, by the nearest pixel."""
    rows, columns = (
        np.minimum(np.arange(round(n * by)) / by, n - 1).astype(int)
        for n, by in zip(pixels.shape, (high, wide), strict=False)
    )
    return np.asarray(pixels[rows][:, columns])


def _enlarge_planes(planes: list[Plane]) -> list[Plane]:
    """``planes``, enlarged by the largest whole factor with which all of them fit into WIDTH."""
    by = max(1, WIDTH // sum(plane.pixels.shape[1] for plane in planes))
    return [Plane(plane.pixels.repeat(by, 0).repeat(by, 1), plane.name, plane.sides) for plane in planes]


def grey_shades(values: NDArray[Any]) -> NDArray[np.float64]:
    """``values`` as shades from 0 to 1."""
    # Percentiles, as a few very bright voxels of a scan would make all others dark; 1e-12 for constant values.
    low, high = np.percentile(values, [DARKEST, BRIGHTEST])
    return np.asarray(np.clip((values - low) / max(high - low, 1e-12), 0, 1), np.float64)


def hottest_voxel(heat: NDArray[Any]) -> tuple[int, ...]:
    """The index of the largest value of ``heat``; of equal ones the first."""
    return tuple(int(i) for i in np.unravel_index(int(heat.argmax()), heat.shape))


def _label_plane(plane: Plane) -> Image:
    """A plane with the letters of its sides around it and its name below; an image has neither."""
    pixels = np.rint(255 * plane.pixels).astype(np.uint8)
    if not plane.name:
        return pixels
    left, right, top, bottom = map(text_image, plane.sides)
    return _vstack_images([top, _hstack_images([left, pixels, right]), bottom, text_image(plane.name)], middle=True)


def colour_scale(height: int) -> Image:
    """The scale of colours: a bar of them over middle grey, with values to the right."""
    heat = np.linspace(1, 0, height)[:, None].repeat(BAR, 1)
    grey = np.full_like(heat, 0.5)
    colour = np.stack([np.ones_like(heat), heat, np.zeros_like(heat)], axis=-1)
    cover = COVER * heat[..., None]
    bar = np.rint(255 * (grey[..., None] * (1 - cover) + colour * cover)).astype(np.uint8)
    ticks = _blank_image(height, max(len(f" {tick:g}") for tick in TICKS) * ADVANCE * SCALE)
    for tick in TICKS:
        text = text_image(f" {tick:g}")
        top = round((1 - tick) * (height - HIGH * SCALE))
        ticks[top : top + HIGH * SCALE, : text.shape[1]] = text[: HIGH * SCALE]
    return _vstack_images(
        [_hstack_images([bar, ticks]), _blank_image(LINE, 1), text_image("of the"), text_image("largest")]
    )


def text_image(text: str) -> Image:
    """A line of text as an image."""
    mask = glyph_pixels(text, SCALE)
    found = _blank_image(LINE * SCALE, mask.shape[1])
    found[: len(mask)][mask] = INK
    return found


def _blank_image(height: int, width: int) -> Image:
    """An image of background."""
    return np.full((height, width, 3), PAPER, np.uint8)


def _vstack_images(images: Sequence[Image], middle: bool = False) -> Image:
    """Images one below the other, aligned to the left or to the middle."""
    width = max(image.shape[1] for image in images)
    lefts = [(width - image.shape[1]) // 2 if middle else 0 for image in images]
    return np.vstack([
        np.pad(image, ((0, 0), (left, width - left - image.shape[1]), (0, 0)), constant_values=PAPER)
        for image, left in zip(images, lefts, strict=True)
    ])  # fmt: skip


def _hstack_images(images: Sequence[Image], gap: int = ADVANCE * SCALE // 2) -> Image:
    """Images side by side, vertically centred, with a gap between them."""
    height = max(len(image) for image in images)
    apart = [part for image in images for part in (image, _blank_image(len(image), gap))][:-1]
    tops = [(height - len(image)) // 2 for image in apart]
    return np.hstack([
        np.pad(image, ((top, height - top - len(image)), (0, 0), (0, 0)), constant_values=PAPER)
        for image, top in zip(apart, tops, strict=True)
    ])  # fmt: skip


def _add_margin(image: Image) -> Image:
    """An image with a margin around it."""
    return np.pad(image, ((MARGIN, MARGIN), (MARGIN, MARGIN), (0, 0)), constant_values=PAPER)
