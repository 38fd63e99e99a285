"""ImageTable: the paths of a set of images with their labels or masks, from folders or from a list."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO

import numpy as np
from numpy.typing import NDArray

from netpart.data.open_bytes import missing_data, read_whole_bytes
from netpart.data.remote.file_systems import FileFacts
from netpart.data.remote.url_path import DEFAULTS, DataPath, UrlSettings, join_data_path, path_text
from netpart.errors import DataError, os_error_text

TABLE = 256 << 20
"""Largest number of bytes of a list."""
MOST = (1 << 31) - 1
"""Highest label: labels are int32."""
DIGITS = len(str(MOST))
PATH, MASK = "path", "mask"
HINT = "correct the path (--set LAYER.image_conf.path=FOLDER, say)"
CSV_LINES = "lines `path,label`"


@dataclass(frozen=True)
class ImageTable:
    """Images, and either ``labels`` (images, labels per image) or the ``masks`` of all of them: paths, or URLs.

    ``places`` names each image in errors. ``classes`` are the names of the classes, if they have names. ``facts`` are
    what is known of URLs, by address.
    """

    images: list[str]
    places: list[str]
    labels: NDArray[np.int32] | None = None
    masks: list[str] | None = None
    classes: tuple[str, ...] = ()
    facts: Mapping[str, FileFacts] = field(default_factory=dict)


def read_image_list(path: DataPath, settings: UrlSettings = DEFAULTS) -> ImageTable:
    """Read a CSV file of lines `path,label` or `path,label,label...`; paths are relative to its folder, or URLs.

    Under a header that begins with `path`, a column `mask` has the paths of masks. Raises DataError if the file is
    missing, empty or has other lines.
    """
    lines = _csv_lines(path)
    header = lines.pop(0)[1] if lines and lines[0][1][0].strip() == PATH else None
    if not lines:
        raise DataError(f"{path}: expected {CSV_LINES}, got none; list an image in each line")
    columns = [name.strip() for name in header] if header else [PATH, *["label"] * max(1, len(lines[0][1]) - 1)]
    masked = MASK in columns
    if masked and columns != [PATH, MASK]:
        raise DataError(f"{path}: expected the columns `path,mask`, got {','.join(columns)[:80]}; omit the others")
    rows = [_checked_row(f"{path}:{n}", row, len(columns), masked) for n, row in lines]
    paths = [_listed_path(path, n, row[0], settings) for (n, _), row in zip(lines, rows, strict=True)]
    images = list(map(path_text, paths))
    places = [f"{path}:{n}: {image}" for (n, _), image in zip(lines, paths, strict=True)]
    if masked:
        masks = [path_text(_listed_path(path, n, row[1], settings)) for (n, _), row in zip(lines, rows, strict=True)]
        return ImageTable(images, places, masks=masks)
    return ImageTable(images, places, np.array([list(map(int, row[1:])) for row in rows], np.int32))


def _listed_path(table: DataPath, number: int, name: str, settings: UrlSettings) -> DataPath:
    """The path of an image in line ``number`` of a list."""
    try:
        return join_data_path(table.parent, name.strip(), settings)
    except DataError as error:
        raise DataError(f"{table}:{number}: {error}") from None


def _csv_lines(path: DataPath) -> list[tuple[int, list[str]]]:
    """The lines of a CSV file that are not empty, with their numbers."""
    try:
        text = read_whole_bytes(path, TABLE).decode()
        return [(n, row) for n, row in enumerate(csv.reader(StringIO(text, "")), 1) if row]
    except FileNotFoundError as error:
        raise missing_data(path, "a folder of images or a list of them", error, HINT) from None
    except OSError as error:
        got = os_error_text(error)
        raise DataError(f"{path}: expected a folder of images or a list of them, got {got}; {HINT}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: expected {CSV_LINES} in UTF-8, got {error}; {HINT}") from error


def _checked_row(who: str, row: list[str], columns: int, masked: bool) -> list[str]:
    """A line with the right number of columns; the last ones are labels, unless it is ``masked``."""
    labels = [] if masked else row[1:]
    if len(row) != columns or columns < 2 or not row[0].strip() or not all(map(is_label, labels)):
        expected = "`path,mask`" if masked else f"`path,label` with {max(1, columns - 1)} labels from 0 to {MOST}"
        raise DataError(f"{who}: expected {expected}, got {','.join(row)[:80]!r}; correct it")
    return row


def is_label(text: str) -> bool:
    """True for the decimal digits of a label."""
    digits = text.strip()
    # The number of digits first: Python refuses to convert thousands of them.
    return digits.isascii() and digits.isdigit() and len(digits) <= DIGITS and int(digits) <= MOST
