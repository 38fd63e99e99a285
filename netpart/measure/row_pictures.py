"""Row pictures: rows of data as images, with the classes of a mask over them, and volumes as slices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.draw.contact_sheet import SheetCell, SheetSection
from netpart.draw.palette import HUES
from netpart.layers.inputs.images import ImagesInput
from netpart.layers.layer import Layer
from netpart.measure.data_look import InputLook, ShownRows
from netpart.measure.row_look import RowLook

Shades = NDArray[np.float64]
DARKEST, BRIGHTEST = 1, 99
"""Percentiles of the values of all drawn rows that are black and white."""
COVER = 0.5
"""Share of the colour of a class over the image."""


def sheet_section(look: InputLook, shown: ShownRows) -> SheetSection:
    """The rows of one input, as pictures where they are images or volumes, else as their text."""
    title = f"{look.name}: {look.type}, rows of {'x'.join(map(str, look.shape))}"
    pictures = None if shown.data is None else _row_shades(shown.source.node.layer, shown.data)
    if pictures is None:
        return SheetSection(title, (), tuple(f"{row.row}: {_caption(row)} {row.text}" for row in look.first))
    cells = []
    for k, row in enumerate(look.first):
        plain = _planes(pictures[k])
        masked = [] if shown.label is None else list(_masked(pictures[k], shown.label[k]))
        cells.append(SheetCell(_side_by_side([*plain, *masked]), f"{row.row}: {_caption(row)}"))
    return SheetSection(title, tuple(cells), ())


def _caption(row: RowLook) -> str:
    """The label of a row, and the name of its class."""
    return f"{row.label} {row.name}".strip()


def _row_shades(layer: Layer, data: NDArray[Any]) -> Shades | None:
    """Rows (rows, channels, *space) as (rows, *space, 3) from 0 to 1; None unless they are images or volumes."""
    if data.dtype.kind != "f" or data.ndim < 3:
        return None
    values = data[:, None] if data.ndim == 3 else data
    if values.shape[1] not in (1, 3) or values.ndim > 5:
        return None
    shades = np.moveaxis(_to_shades(layer, values.astype(np.float64)), 1, -1)
    return np.asarray(np.broadcast_to(shades, (*shades.shape[:-1], 3)))


def _to_shades(layer: Layer, values: Shades) -> Shades:
    """``values`` from 0 to 1: as an image was before its mean was subtracted, else by the range of all drawn rows."""
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    if isinstance(layer, ImagesInput):
        conf = layer.conf.image_conf
        std, mean = (np.reshape(list(of) or [other], (-1, 1, 1)) for of, other in ((conf.std, 1.0), (conf.mean, 0.0)))
        return np.asarray(np.clip(values * std + mean, 0, 1))
    low, high = np.percentile(values, [DARKEST, BRIGHTEST])
    return np.asarray(np.clip((values - low) / max(high - low, 1e-12), 0, 1))


def _planes(shades: Shades) -> list[Shades]:
    """An image as it is; a volume (right, anterior, superior, 3) as its three middle planes, the last axis upwards."""
    if shades.ndim == 3:
        return [shades]
    middles = (shades.take(extent // 2, axis) for axis, extent in enumerate(shades.shape[:3]))
    return [plane.swapaxes(0, 1)[::-1] for plane in middles]


def _masked(shades: Shades, label: NDArray[Any]) -> Iterator[Shades]:
    """The same with the colours of classes over it, if ``label`` has a class for each place; class 0 has no colour."""
    if label.dtype.kind == "f" or label.ndim != 1 or label.size != shades.size // 3 or label.size == 1:
        return
    classes = label.reshape(shades.shape[:-1])
    hues = np.array([[int(hue[i : i + 2], 16) / 255 for i in (0, 2, 4)] for hue in HUES])
    coloured = np.where(classes[..., None] > 0, (1 - COVER) * shades + COVER * hues[classes % len(hues)], shades)
    yield from _planes(coloured)


def _side_by_side(planes: list[Shades]) -> NDArray[np.uint8]:
    """Planes next to each other, aligned at the top, as 8-bit colours."""
    height = max(len(plane) for plane in planes)
    padded = [np.pad(plane, ((0, height - len(plane)), (0, 1), (0, 0)), constant_values=1.0) for plane in planes]
    return np.rint(255 * np.hstack(padded)[:, :-1]).astype(np.uint8)
