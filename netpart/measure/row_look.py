"""Row looks: one row of data as figures and a short text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.text import TextInput
from netpart.layers.layer import Layer
from netpart.measure.class_counts import class_name

LONGEST = 60
"""Largest number of characters of the text of a row."""
SHOWN = 8
"""Largest number of values or labels that are shown of a row."""


@dataclass(frozen=True)
class RowLook:
    """A row: its number, its labels as text, the name of its class, figures of its values, and their beginning.

    ``label`` has the targets of a row that has these instead. ``minimum``, ``mean`` and ``maximum`` are those of the
    finite values; None without such.
    """

    row: int
    label: str
    name: str
    minimum: float | None
    mean: float | None
    maximum: float | None
    text: str


def describe_row(
    layer: Layer, number: int, data: NDArray[Any] | None, label: NDArray[Any] | None, names: Sequence[str]
) -> RowLook:
    """The look of a row that ``layer`` has read. ``names`` are those of the classes."""
    values = np.zeros(0) if data is None else data[np.isfinite(data)].astype(np.float64)
    low, mean, high = (float(take(values)) if values.size else None for take in (np.min, np.mean, np.max))
    single = label is not None and not label.shape and label.dtype.kind != "f"
    name = class_name(int(label), names) if label is not None and single else ""
    shown = "" if label is None or labels_are_tokens(layer) else _labels_text(label)
    return RowLook(number, shown, name, low, mean, high, "" if data is None else _values_text(layer, data))


def labels_are_tokens(layer: Layer) -> bool:
    """True if the labels of a row are the tokens that follow its own, and no classes."""
    return isinstance(layer, RowInput) and layer.reads_tokens


def _labels_text(label: NDArray[Any]) -> str:
    """The labels of a row; of many, the different ones. Targets are numbers, of which the first are shown."""
    if label.dtype.kind == "f":
        return " ".join(f"{value:.4g}" for value in label.reshape(-1)[:SHOWN].tolist()) + " ..." * (label.size > SHOWN)
    if label.size <= SHOWN:
        return " ".join(map(str, label.reshape(-1).tolist()))
    found = np.unique(label).tolist()
    return f"{{{' '.join(map(str, found[:SHOWN]))}{' ...' * (len(found) > SHOWN)}}}"


def _values_text(layer: Layer, data: NDArray[Any]) -> str:
    """The beginning of a row: text, tokens or numbers; nothing of an image."""
    if isinstance(layer, TextInput):
        return _clipped(repr(bytes(data.astype(np.uint8)[: 4 * LONGEST]).decode(errors="replace")))
    if data.ndim > 1:
        return ""
    return _numbers_text(data, 2 * SHOWN)


def _numbers_text(values: NDArray[Any], most: int) -> str:
    """The first ``most`` numbers."""
    numbers = [f"{value:g}" for value in values[:most].tolist()]
    return _clipped(" ".join(numbers) + " ..." * (values.size > len(numbers)))


def _clipped(text: str) -> str:
    """``text``, or its beginning."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
